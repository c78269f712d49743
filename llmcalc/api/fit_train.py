"""`fit --train`: which models train so on these GPUs, how far, and what would make others fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from llmcalc.api import fit_train_tables as tables
from llmcalc.api.bands import step_band
from llmcalc.api.fit import ORDER, FitResult
from llmcalc.api.plans import Asked, Method, plan
from llmcalc.api.selection import Filter, selected
from llmcalc.api.train_advice import advise
from llmcalc.api.trained import Limit, Trained
from llmcalc.engines.capacity import capacity
from llmcalc.engines.largest import bounded
from llmcalc.errors import ImpossibleError, LlmcalcError
from llmcalc.planner.advice import Advice
from llmcalc.planner.fit import COMFORT, Verdict
from llmcalc.report.model import Deferred, Report, Table
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainFitResult:
    """One model, trained so on the asked GPUs; bytes are of the fullest GPU."""

    model: str
    family: str
    params: int
    trainable: int
    method: Method
    verdict: Verdict
    needed: int
    capacity: int
    free: int
    max_batch: int
    """Sequences that go through at once on each data rank."""
    max_context: int | None
    """At this batch, within the model's own limit; null: nothing ends it."""
    limit: Limit
    """What takes most of what runs out."""
    context_limit: int | None
    seq: int
    batch: int
    gpu: str
    gpus: int
    parts: Mapping[str, int]
    advice: tuple[Advice, ...]
    basis: Literal["modelled"]
    error_p50: float | None
    """Median relative error of such peaks on public measurements, if there are any."""
    error_p90: float | None
    """Nine in ten of them are within this."""
    assumptions: Mapping[str, str | int]


Placement = FitResult | TrainFitResult
"""What `fit` answers, without and with --train."""


def usual(method: Method, batch: int | None, seq: int, gpus: int | None) -> Asked:
    """Training on so many GPUs, which deal everything out; one sequence at once if not said."""
    many = gpus is not None and gpus > 1
    return Asked(
        method=method, micro_batch=1 if batch is None else batch, seq=seq,
        gpus=1 if gpus is None else gpus, shard="fsdp" if many else "ddp",
    )  # fmt: skip


def fits_training(
    cards: Sequence[ModelCard], asked: Asked, gpu: GpuSpec, *, strict: bool = False
) -> Report:
    """Named models, each with its parts and advice."""
    placed = sorted((Trained(card, asked, capacity(gpu).bytes) for card in cards), key=_rank)
    return _report(placed, asked, gpu, tables.named(placed), strict=strict)


def fit_catalog_training(
    wanted: Filter, asked: Asked, gpu: GpuSpec, *, everything: bool = False, strict: bool = False
) -> Report:
    """Every selected model of the catalog, the largest that fits first."""
    problems: list[LlmcalcError] = []
    offered = capacity(gpu).bytes
    placed: list[Trained] = []
    undivided = 0
    for card in selected(wanted, problems.append):
        try:
            placed.append(Trained(card, asked, offered))
        except ImpossibleError:
            undivided += 1
    placed.sort(key=_rank)
    report = _report(
        placed, asked, gpu, tables.overview(placed, everything=everything), strict=strict
    )
    warnings = [problem.message for problem in problems]
    if undivided:
        warnings.append(f"{undivided} models left out, which cannot be trained so")
    return replace(report, warnings=tuple(warnings))


def _report(
    placed: list[Trained], asked: Asked, gpu: GpuSpec, shown: tuple[Table, ...], *, strict: bool
) -> Report:
    assumptions = _assumptions(asked, gpu)
    return Report(
        command="fit",
        results=Deferred(lambda: [_result(one, gpu, assumptions) for one in placed]),
        tables=shown,
        assumptions=tuple(f"{name} {value}" for name, value in assumptions.items()),
        exit_code=6 if strict and any(one.verdict == "no" for one in placed) else 0,
    )


def _result(one: Trained, gpu: GpuSpec, assumptions: Mapping[str, str | int]) -> TrainFitResult:
    needs, asked = one.needs, one.asked
    band = step_band(plan(asked).framework, asked.method, one.ledger)
    return TrainFitResult(
        model=one.card.name, family=one.card.family, params=one.params, trainable=one.trainable,
        method=asked.method, verdict=one.verdict, needed=needs.peak, capacity=one.capacity,
        free=one.capacity - needs.peak, max_batch=one.max_batch,
        max_context=bounded(one.max_context), limit=one.limit, context_limit=one.context_limit,
        seq=asked.seq, batch=asked.micro_batch, gpu=gpu.name, gpus=asked.gpus,
        parts=needs.parts | {"runtime": needs.taken.total},
        advice=advise(one), basis="modelled", error_p50=band.p50 if band else None,
        error_p90=band.p90 if band else None, assumptions=assumptions,
    )  # fmt: skip


def _assumptions(asked: Asked, gpu: GpuSpec) -> dict[str, str | int]:
    known, chosen = capacity(gpu), plan(asked)
    return {
        "GPU": f"{asked.gpus} × {gpu.name}, {known.bytes / 2**30:.2f} GiB each {known.basis}",
        "method": asked.method,
        "precision": chosen.recipe.title,
        "optimizer": chosen.optimizer.title,
        "framework": chosen.framework.title,
        "sequence": asked.seq,
        "sequences at once on a rank": asked.micro_batch,
        "dealt out": asked.shard if asked.gpus > 1 else "nothing",
        "fits": f"up to {COMFORT:g} of the memory",
    }


def _rank(one: Trained) -> tuple[int, int, str]:
    return ORDER.index(one.verdict), -one.params, one.card.name
