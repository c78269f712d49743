"""`fit`: which models fit on these GPUs, how far, and what would make the others fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter

from llmcalc.api import fit_tables as tables
from llmcalc.api.bands import banded
from llmcalc.api.request import at_least_one
from llmcalc.api.selection import Filter, selected
from llmcalc.api.setup import Setup
from llmcalc.blueprint import lower
from llmcalc.catalog.data import quantization
from llmcalc.engines import params
from llmcalc.engines.capacity import capacity
from llmcalc.engines.largest import bounded
from llmcalc.engines.params import ParamCount
from llmcalc.engines.part import Basis, Part
from llmcalc.engines.serving import refuse_impossible
from llmcalc.errors import ImpossibleError, LlmcalcError
from llmcalc.planner.advice import Advice, advise
from llmcalc.planner.fit import COMFORT, Ask, Fit, Limit, Planner, Verdict
from llmcalc.report.model import Deferred, Report, Table
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec

ORDER: tuple[Verdict, ...] = ("fits", "tight", "no")


@dataclass(frozen=True, slots=True, kw_only=True)
class FitResult:
    """One model on the asked GPUs; bytes are per GPU."""

    model: str
    family: str
    params: int
    active: int
    verdict: Verdict
    """`fits` up to 0.9 of the capacity, `tight` up to all of it, or `no`, also over the context."""
    needed: int
    capacity: int
    free: int
    max_batch: int
    """At this sequence, all replicas together."""
    max_context: int | None
    """At this batch, within the model's own limit; null: nothing ends it."""
    limit: Limit
    """What runs out: weights, kv_cache, activations, the model's context, or nothing."""
    context_limit: int | None
    """Tokens that the model was made for."""
    seq: int
    """Tokens that `needed` holds for: as asked, or the model's limit where that is less."""
    batch: int
    gpu: str
    gpus: int
    parallel: Mapping[str, int]
    parts: tuple[Part, ...]
    advice: tuple[Advice, ...]
    basis: Basis
    assumptions: Mapping[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to run and where, for all models alike."""

    gpu: GpuSpec
    batch: int
    seq: int
    setup: Setup


class Placed:
    """One model and where it stands; each answer is worked out when somebody wants it."""

    def __init__(self, card: ModelCard, ask: Ask) -> None:
        self.card, self.ask = card, ask

    @cached_property
    def planner(self) -> Planner:
        """What places it."""
        return Planner(lower(self.card), self.card.max_position_embeddings)

    @cached_property
    def count(self) -> ParamCount:
        """Its parameters."""
        return params.count(self.planner.ledger)

    @cached_property
    def found(self) -> Fit:
        """Its place. Raises ImpossibleError for a split that the model does not allow."""
        return self.planner.fit(self.ask)

    @property
    def too_long(self) -> bool:
        """Whether the sequences are longer than it was made for: it does not fit, however small."""
        limit = self.card.max_position_embeddings
        return limit is not None and self.ask.seq > limit

    @property
    def verdict(self) -> Verdict:
        """Of its place; known without one where the sequences are too long."""
        return "no" if self.too_long else self.found.verdict

    @property
    def rank(self) -> tuple[int, int, str]:
        """Fits before tight before no; the largest model first."""
        return ORDER.index(self.verdict), -self.count.total, self.card.name

    @property
    def is_divided(self) -> bool:
        """Whether the model allows the split that was asked for, if any was."""
        try:
            return self.ask.parallel is None or bool(self.found)
        except ImpossibleError:
            return False

    def advice(self) -> tuple[Advice, ...]:
        """What would make it fit."""
        formats = tuple(quantization(name) for name in self.ask.runtime.weight_formats)
        return advise(self.planner, self.ask, self.found, formats)


def fits(
    cards: Sequence[ModelCard], question: Question, *, emit: str | None = None, strict: bool = False
) -> Report:
    """Place the named models, with parts and advice, largest that fits first.

    `emit` asks for the lines that start them instead.

    Raises ImpossibleError for impossible sizes, or a split that a model does not allow.
    """
    if emit:
        from llmcalc.api import fit_start  # noqa: PLC0415  (the usual question does without)

        question = fit_start.settled(question)
    ask = _ask(question)
    placed = sorted((Placed(card, ask) for card in cards), key=attrgetter("rank"))
    for one in placed:
        found = one.found
        one.planner.explain(ask, found.parallel, found.batch, found.seq)
    report = _report(placed, question, tables.named(placed), strict=strict)
    return fit_start.emitted(report, placed, ask, emit) if emit else report


def fit_catalog(
    wanted: Filter, question: Question, *, everything: bool = False, strict: bool = False
) -> Report:
    """Place every selected model of the catalog; the tables show the best, or `everything`.

    Models that the asked split does not divide are left out with a warning. Raises ImpossibleError
    for impossible sizes.
    """
    ask = _ask(question)
    problems: list[LlmcalcError] = []
    asked = [Placed(card, ask) for card in selected(wanted, problems.append)]
    placed = [one for one in asked if one.is_divided]
    report = _report(
        placed, question, tables.overview(placed, everything=everything), strict=strict
    )
    warnings = [problem.message for problem in problems]
    if undivided := len(asked) - len(placed):
        left = "1 model" if undivided == 1 else f"{undivided} models"
        warnings.append(f"{left} left out, which the asked split does not divide")
    return replace(report, warnings=tuple(warnings))


def _report(
    placed: list[Placed], question: Question, shown: tuple[Table, ...], *, strict: bool
) -> Report:
    assumptions = _assumptions(question)
    return Report(
        command="fit",
        results=Deferred(
            lambda: [
                _result(one, question, assumptions)
                for one in sorted(placed, key=attrgetter("rank"))
            ]
        ),
        tables=shown,
        assumptions=tuple(f"{name} {value}" for name, value in assumptions.items()),
        exit_code=6 if strict and any(one.verdict == "no" for one in placed) else 0,
    )


def _ask(question: Question) -> Ask:
    at_least_one(batch=question.batch, seq=question.seq)
    refuse_impossible(question.setup.runtime, question.setup.settings)
    return question.setup.ask(
        batch=question.batch,
        seq=question.seq,
        capacity=capacity(question.gpu).bytes,
        gpu=question.gpu.name,
    )


def _result(one: Placed, question: Question, assumptions: dict[str, str | int]) -> FitResult:
    ask, found, parallel = one.ask, one.found, one.found.parallel
    return FitResult(
        model=one.card.name,
        family=one.card.family,
        params=one.count.total,
        active=one.count.active,
        verdict=found.verdict,
        needed=found.needed,
        capacity=ask.capacity,
        free=found.free,
        max_batch=found.max_batch,
        max_context=bounded(found.max_context),
        limit=found.limit,
        context_limit=one.card.max_position_embeddings,
        seq=found.seq,
        batch=question.batch,
        gpu=question.gpu.name,
        gpus=ask.gpus,
        parallel={"tp": parallel.tp, "pp": parallel.pp, "ep": parallel.ep, "dp": parallel.dp},
        parts=banded(found.stage.parts(found.batch, found.seq), ask.runtime),
        advice=one.advice(),
        basis="modelled",
        assumptions=assumptions,
    )


def _assumptions(question: Question) -> dict[str, str | int]:
    known = capacity(question.gpu)
    gib = known.bytes / 2**30
    return {
        "GPU": f"{question.setup.gpus} × {question.gpu.name}, {gib:.2f} GiB each {known.basis}",
        "batch": question.batch,
        "sequence": question.seq,
        **question.setup.assumptions,
        "fits": f"up to {COMFORT:g} of the memory",
    }
