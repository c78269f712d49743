"""`fit --train`: which models train so on these GPUs, how far, and what would make others fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from llmcalc.api import fit_train_tables as tables
from llmcalc.api.fit import ORDER, FitResult
from llmcalc.api.fit_train_result import TrainFitResult, assumed, result
from llmcalc.api.plans import Asked, plan
from llmcalc.api.selection import Filter, selected
from llmcalc.api.train_rules import Said, idle, runs_on
from llmcalc.api.trained import Trained
from llmcalc.engines.capacity import capacity
from llmcalc.errors import LlmcalcError
from llmcalc.report.model import Deferred, Report, Table
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec

Placement = FitResult | TrainFitResult
"""What `fit` answers, without and with --train."""


def usual(gpus: int | None) -> dict[str, Any]:
    """What recipes of fine-tuning do where nobody says: recompute layers, and deal everything out.

    TRL's SFTConfig sets gradient_checkpointing, LLaMA-Factory has disable_gradient_checkpointing
    off, torchtune's configs say enable_activation_checkpointing: True and axolotl's examples
    gradient_checkpointing: true, for full fine-tuning and adapters alike; PEFT's
    prepare_model_for_kbit_training turns it on for quantised models (read in November 2026).
    """
    return {"recompute": "full", "shard": "fsdp" if gpus is not None and gpus > 1 else "ddp"}


def fits_training(
    cards: Sequence[ModelCard],
    asked: Asked,
    gpu: GpuSpec,
    *,
    typed: Sequence[str] = (),
    strict: bool = False,
) -> Report:
    """Named models, each with its parts and advice.

    `typed` is what stands for each in `llmcalc train`, as `llama3-8b --gpu h100`; the same training
    is told so.
    """
    placed = sorted((Trained(card, asked, capacity(gpu).bytes) for card in cards), key=_rank)
    lines = {card.name: one for card, one in zip(cards, typed, strict=False)}
    for one in placed:
        one.explain()
    return report(placed, [asked], gpu, tables.named(placed, lines), strict=strict)


def fit_catalog_training(
    wanted: Filter, asked: Asked, gpu: GpuSpec, *, everything: bool = False, strict: bool = False
) -> Report:
    """Every selected model of the catalog, the largest that fits first."""
    problems: list[LlmcalcError] = []
    offered = capacity(gpu).bytes
    cards = selected(wanted, problems.append)
    placed = sorted((Trained(card, asked, offered) for card in cards), key=_rank)
    shown = tables.overview(placed, everything=everything)
    found = report(placed, [asked], gpu, shown, strict=strict)
    told = (problem.message for problem in problems)
    return replace(found, warnings=(*found.warnings, *told))


def report(
    placed: Sequence[Trained],
    asked: Sequence[Asked],
    gpu: GpuSpec,
    shown: tuple[Table, ...],
    *,
    strict: bool,
) -> Report:
    """Results with their tables, and what is taken for granted in all that was asked.

    Raises ImpossibleError where the GPU does not compute in the precision.
    """
    for each in asked:
        runs_on(gpu, plan(each).recipe)
    first, *others = (assumed(one, gpu) for one in asked)
    shared = {
        name: value for name, value in first.items()
        if all(other.get(name) == value for other in others)
    }  # fmt: skip
    return Report(
        command="fit",
        results=Deferred(lambda: [result(one, gpu) for one in placed]),
        tables=shown,
        assumptions=tuple(f"{name} {value}" for name, value in shared.items()),
        warnings=idle(Said(training=asked[0], card=placed[0].card, gpu=gpu)) if placed else (),
        exit_code=6 if strict and any(one.verdict == "no" for one in placed) else 0,
    )


def _rank(one: Trained) -> tuple[int, int, str]:
    return ORDER.index(one.verdict), -one.params, one.card.name
