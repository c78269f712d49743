"""`llmcalc fit`, the main job."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from llmcalc import units
from llmcalc.cli.beside import BesideOptions
from llmcalc.cli.command import command
from llmcalc.cli.engine import Engine
from llmcalc.cli.fit_training import FitTraining, Methods
from llmcalc.cli.options import Gpu, OptionalModels, Seq
from llmcalc.cli.which import Which
from llmcalc.errors import UsageError
from llmcalc.report.model import Report

if TYPE_CHECKING:
    from llmcalc.api.plans import Asked

USUAL_BATCH = 16


@command(
    "llmcalc fit --gpu a100-80 --batch 16",
    "llmcalc fit llama2-13b --gpu a100-80 --batch 16",
    "llmcalc fit --gpu 4090 --weights int4 --family qwen --all",
    "llmcalc fit llama3-8b --gpu 4090 --train full",
    "llmcalc fit --gpu 4090 --train all",
    "llmcalc fit deepseek-v3 --gpu h200 --gpus 8 --weights fp8 --seq 32k --strict",
)
def fit(
    model: OptionalModels = None,
    *,
    gpu: Gpu,
    batch: Annotated[
        int | None,
        typer.Option(
            "--batch",
            "-b",
            metavar="N",
            parser=units.count,
            help="Sequences at once; 16, or 1 on each rank with --train.",
        ),
    ] = None,
    seq: Seq = 4096,
    train: Annotated[
        Methods | None,
        typer.Option(help="Train the models so instead of serving them; all: by each method."),
    ] = None,
    which: Which,
    training: FitTraining,
    engine: Engine,
    extra: BesideOptions,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 6 where a model does not fit.")
    ] = False,
) -> Report:
    """Which models fit on these GPUs, how far, and what would make the others fit."""
    if train:
        if replace(engine, gpus=None) != Engine() or extra != BesideOptions():
            raise UsageError(
                "options of engines that serve do not go with --train",
                hint="llmcalc train MODEL takes those of training",
            )
        asked = training.asked(train, batch, seq, engine.gpus)
        return _trained(model, gpu, asked, which, strict=strict)
    if training != FitTraining():
        raise UsageError("options of training go with --train", hint="add --train full or qlora")
    from llmcalc.api.fit import Question, fit_catalog, fits  # noqa: PLC0415  (commands load when called)
    from llmcalc.catalog import find  # noqa: PLC0415

    batch = USUAL_BATCH if batch is None else batch
    question = Question(gpu=find.gpu(gpu), batch=batch, seq=seq, setup=engine.setup(extra.beside()))
    if model:
        cards = [find.card(one) for one in model]
        report = fits(cards, question, emit=engine.emit, strict=strict)
        return replace(report, warnings=(*report.warnings, *which.idle()))
    if engine.emit:
        raise UsageError("--emit starts one model", hint="name it: llmcalc fit MODEL --emit ...")
    return fit_catalog(which.filter(), question, everything=which.everything, strict=strict)


def _trained(
    model: list[str] | None, gpu: str, asked: list[Asked], which: Which, *, strict: bool
) -> Report:
    """The same question about training."""
    from llmcalc.api import fit_methods, fit_train  # noqa: PLC0415  (the usual question does without)
    from llmcalc.catalog import find  # noqa: PLC0415

    on, cards = find.gpu(gpu), [find.card(one) for one in model or []]
    first, *others = asked
    if cards:
        report = (
            fit_methods.fits_methods(cards, asked, on, strict=strict) if others
            else fit_train.fits_training(
                cards, first, on, strict=strict,
                typed=[f"{quote(one)} --gpu {quote(gpu)}" for one in model or []],
            )
        )  # fmt: skip
        return replace(report, warnings=(*report.warnings, *which.idle()))
    if others:
        return fit_methods.fit_catalog_methods(which.filter(), asked, on)
    return fit_train.fit_catalog_training(
        which.filter(), first, on, everything=which.everything, strict=strict
    )
