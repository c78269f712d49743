"""`fit --train`: which models train so on these GPUs, how far, and what would make others fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from llmcalc.api import fit_train_tables as tables
from llmcalc.api.bands import step_band
from llmcalc.api.fit import ORDER, FitResult
from llmcalc.api.plans import Asked, Method, lowered, plan
from llmcalc.api.selection import Filter, selected
from llmcalc.blueprint.operations import Ledger
from llmcalc.engines import params
from llmcalc.engines.capacity import capacity
from llmcalc.engines.largest import bounded, largest
from llmcalc.engines.train.trained import count
from llmcalc.errors import ImpossibleError, LlmcalcError
from llmcalc.formula import quietly
from llmcalc.planner.advice import MOST_GPUS, Advice
from llmcalc.planner.fit import COMFORT, Verdict
from llmcalc.planner.training import needed_by
from llmcalc.report.model import Deferred, Report, Table
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec

Limit = Literal["states", "activations", "logits", "buffers", "context"]
SMALLER: dict[Method, tuple[Method, ...]] = {
    "full": ("lora", "qlora"), "lora": ("qlora",), "dora": ("qlora",), "qlora": (),
}  # fmt: skip
"""Methods that need less, the least change first."""


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


class Trained:
    """One model in training; how far it could grow is worked out when somebody asks."""

    def __init__(self, card: ModelCard, asked: Asked, offered: int) -> None:
        self.card, self.asked, self.capacity = card, asked, offered
        self.ledger: Ledger = lowered(card, plan(asked).framework)
        self.context_limit = card.max_position_embeddings
        with quietly():
            self.params = params.count(self.ledger).total
        self.needs = needed_by(self.ledger, plan(asked))
        self.verdict = self.verdict_of(asked)

    @cached_property
    def trainable(self) -> int:
        """Numbers with gradients."""
        with quietly():
            return count(self.ledger, plan(self.asked))

    @property
    def limit(self) -> Limit:
        """What takes most of what runs out; states, where they alone leave no room."""
        if self._too_long(self.asked):
            return "context"
        if self.needs.static > COMFORT * self.capacity:
            return "states"
        grown: tuple[Limit, ...] = ("activations", "logits", "buffers")
        return max(grown, key=lambda part: self.needs.parts[part])

    @cached_property
    def max_batch(self) -> int:
        """Of each data rank."""
        return largest(lambda n: self._total(replace(self.asked, micro_batch=n)), self.capacity)

    @cached_property
    def max_context(self) -> int:
        """At the asked batch."""
        return largest(
            lambda n: self._total(replace(self.asked, seq=n)), self.capacity, self.context_limit
        )

    def verdict_of(self, asked: Asked) -> Verdict:
        """Whether it fits so."""
        if self._too_long(asked):
            return "no"
        return needed_by(self.ledger, plan(asked)).verdict(self.capacity)

    def advice(self) -> tuple[Advice, ...]:
        """Changes after which it fits, or is tight where it did not fit, cheapest first."""
        if self.verdict == "fits":
            return ()
        worth = ("fits",) if self.verdict == "tight" else ("fits", "tight")
        tried = (self._tried(change, asked) for change, asked in self._changes())
        return tuple(one for one in tried if one.verdict in worth)

    def _changes(self) -> Iterator[tuple[str, Asked]]:
        asked = self.asked
        if self._too_long(asked):
            asked = replace(asked, seq=self.context_limit or asked.seq)
            yield f"the model's {asked.seq:,} tokens", asked
        if 0 < self.max_batch < asked.micro_batch:
            yield f"micro-batch {self.max_batch}", replace(asked, micro_batch=self.max_batch)
        yield from self._leaner(asked)
        for method in SMALLER[asked.method]:
            yield self._leanest(method, replace(asked, method=method))
        gpus = 2 * asked.gpus
        while gpus <= MOST_GPUS:
            more = f"{gpus} GPUs under FSDP", replace(asked, gpus=gpus, shard="fsdp")
            found = self._leanest(*more)
            if self.verdict_of(found[1]) == "fits":
                yield found
                return
            gpus *= 2

    def _leaner(self, asked: Asked) -> Iterator[tuple[str, Asked]]:
        """Ways to keep less, one at a time; together only where no one of them is enough."""
        alone = (
            ("recompute every layer", replace(asked, recompute="full")),
            ("a loss in chunks", replace(asked, loss="chunked")),
            ("8-bit AdamW", replace(asked, optimizer="adamw-8bit")),
        )
        yield from alone
        if any(self.verdict_of(one) == "fits" for _, one in alone):
            return
        both = replace(asked, recompute="full", loss="chunked")
        yield "recompute, a loss in chunks", both
        if self.verdict_of(both) != "fits":
            all_three = replace(both, optimizer="adamw-8bit")
            yield "recompute, a loss in chunks, 8-bit AdamW", all_three

    def _leanest(self, change: str, asked: Asked) -> tuple[str, Asked]:
        """A change with as little of recomputation and chunks as makes it fit."""
        again = replace(asked, recompute="full")
        both = replace(again, loss="chunked")
        ways = ((change, asked), (f"{change}, recompute", again))
        fitting = (way for way in ways if self.verdict_of(way[1]) == "fits")
        return next(fitting, (f"{change}, recompute, a loss in chunks", both))

    def _tried(self, change: str, asked: Asked) -> Advice:
        return Advice(
            change=change, options=tables.options(asked),
            needed=self._total(asked), verdict=self.verdict_of(asked),
        )  # fmt: skip

    def _total(self, asked: Asked) -> int:
        return needed_by(self.ledger, plan(asked)).peak

    def _too_long(self, asked: Asked) -> bool:
        return self.context_limit is not None and asked.seq > self.context_limit


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
        advice=one.advice(), basis="modelled", error_p50=band.p50 if band else None,
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
