"""`fit`: which models fit on these GPUs, how far, and what would make the others fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from llmcalc.api.fit_tables import tables
from llmcalc.api.request import at_least_one
from llmcalc.api.selection import Filter, selected
from llmcalc.api.setup import Setup
from llmcalc.blueprint import lower
from llmcalc.catalog.data import quantizations
from llmcalc.engines import params
from llmcalc.engines.capacity import capacity
from llmcalc.engines.memory import Basis, Part
from llmcalc.errors import ImpossibleError, LlmcalcError
from llmcalc.planner.advice import Advice, advise
from llmcalc.planner.fit import COMFORT, Ask, Fit, Limit, Verdict, fit
from llmcalc.report.model import Report, Table
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
    """`fits` up to 0.9 of the capacity, `tight` up to all of it, `no` beyond it or beyond the context."""
    needed: int
    capacity: int
    free: int
    max_batch: int
    """At this sequence, all replicas together."""
    max_context: int
    """At this batch, within the model's own limit."""
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
    gpus: int
    batch: int
    seq: int
    setup: Setup
    split: bool = False
    """Whether the user said how to split; else the planner does."""


def fits(cards: Sequence[ModelCard], question: Question, *, strict: bool = False) -> Report:
    """Place the named models, with parts and advice, largest that fits first.

    Raises ImpossibleError for impossible sizes, or a split that a model does not allow.
    """
    results = _answers(cards, question)
    return _report(results, tables(results, named=True, everything=True), question, strict=strict)


def fit_catalog(
    wanted: Filter, question: Question, *, everything: bool = False, strict: bool = False
) -> Report:
    """Place every selected model of the catalog; a first screen shows the best, all of it `everything`.

    Models that the asked split does not divide are left out with a warning. Raises ImpossibleError
    for impossible sizes.
    """
    problems: list[LlmcalcError] = []
    results = _answers(selected(wanted, problems.append), question, problems.append)
    shown = tables(results, named=False, everything=everything)
    warnings = tuple(problem.message for problem in problems)
    return replace(_report(results, shown, question, strict=strict), warnings=warnings)


def _answers(
    cards: Sequence[ModelCard], question: Question, on_problem: Callable[[LlmcalcError], None] | None = None
) -> list[FitResult]:
    at_least_one(batch=question.batch, seq=question.seq, gpus=question.gpus)
    ask = _ask(question)
    results = []
    for card in cards:
        try:
            results.append(_placed(card, question, ask))
        except ImpossibleError as error:
            if on_problem is None:
                raise
            on_problem(ImpossibleError(f"{card.name} left out: {error.message}", hint=error.hint))
    return sorted(results, key=_rank)


def _report(
    results: list[FitResult], shown: tuple[Table, ...], question: Question, *, strict: bool
) -> Report:
    return Report(
        command="fit",
        results=tuple(results),
        tables=shown,
        assumptions=tuple(f"{name} {value}" for name, value in _assumptions(question).items()),
        exit_code=6 if strict and any(result.verdict == "no" for result in results) else 0,
    )


def _ask(question: Question) -> Ask:
    chosen = question.setup
    return Ask(
        batch=question.batch,
        seq=question.seq,
        capacity=capacity(question.gpu).bytes,
        gpus=question.gpus,
        weights=chosen.weights,
        kv=chosen.kv,
        runtime=chosen.runtime,
        parallel=chosen.parallel if question.split else None,
    )


def _placed(card: ModelCard, question: Question, ask: Ask) -> FitResult:
    ledger = lower(card)
    limit = card.max_position_embeddings
    found = fit(ledger, limit, ask)
    count = params.count(ledger)
    return _result(card, count, question, found, advise(ledger, limit, ask, found, quantizations()))


def _result(
    card: ModelCard, count: params.ParamCount, question: Question, found: Fit, advice: tuple[Advice, ...]
) -> FitResult:
    parallel = found.parallel
    return FitResult(
        model=card.name,
        family=card.family,
        params=count.total,
        active=count.active,
        verdict=found.verdict,
        needed=found.needed,
        capacity=found.needed + found.free,
        free=found.free,
        max_batch=found.max_batch,
        max_context=found.max_context,
        limit=found.limit,
        context_limit=card.max_position_embeddings,
        seq=found.seq,
        batch=question.batch,
        gpu=question.gpu.name,
        gpus=question.gpus,
        parallel={"tp": parallel.tp, "pp": parallel.pp, "ep": parallel.ep, "dp": parallel.dp},
        parts=found.stage.parts(found.batch, found.seq),
        advice=advice,
        basis="modelled",
        assumptions=_assumptions(question),
    )


def _assumptions(question: Question) -> dict[str, str | int]:
    known = capacity(question.gpu)
    gib = known.bytes / 2**30
    return {
        "GPU": f"{question.gpus} × {question.gpu.name}, {gib:.2f} GiB each {known.basis}",
        "batch": question.batch,
        "sequence": question.seq,
        **question.setup.assumptions,
        "fits": f"up to {COMFORT:g} of the memory",
    }


def _rank(result: FitResult) -> tuple[int, int, str]:
    """Fits before tight before no; the largest model first."""
    return ORDER.index(result.verdict), -result.params, result.model
