"""How far predictions are from measurements, row by row."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from llmcalc.checks.measured.case import Prediction
from llmcalc.checks.measured.cases import AnyCase, case, group
from llmcalc.checks.measured.metric import Metric, impossible
from llmcalc.checks.measured.metrics import METRICS
from llmcalc.checks.measured.reading import Row
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.errors import LlmcalcError
from llmcalc.formula import formula

Predict = Callable[[AnyCase], Prediction]
Foreseen = tuple[AnyCase, Prediction] | str
"""A case with what we say of it, or why we say nothing."""

OUTCOME = "outcome"
_DOUBTED = re.compile(
    r"impossible|contradict|inconsistent|implausible|\bflag\b|not a valid", re.IGNORECASE
)
_UNTOLD = re.compile(r"\b(?:capped|implied|evidently)\b", re.IGNORECASE)
"""Words of a note that tells a setting which no column has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One metric of one row, in the unit of the metric's name."""

    row_id: str
    group: str
    metric: str
    predicted: float | None
    """Also where the row is not scored, if its configuration allows a prediction."""
    measured: float | None
    error: float | None
    """Relative, above 0 where too much was predicted; of an outcome: 1 for a false `fits`."""
    skipped_because: str
    """Why it is not scored; empty: it is."""


@formula("predicted / measured − 1", source="relative error; above 0 where too much was predicted")
def relative_error(*, predicted: float, measured: float) -> float:
    """How far a prediction is off, as a share of what was measured."""
    return predicted / measured - 1


@formula("fits_predicted − fits_measured", source="1: a false fits, −1: a false refusal, 0: right")
def outcome_error(*, fits_predicted: float, fits_measured: float) -> float:
    """Whether a start was foreseen."""
    return fits_predicted - fits_measured


def error(metric: str, predicted: float, measured: float) -> float:
    """The error of one metric."""
    if metric == OUTCOME:
        return float(outcome_error(fits_predicted=predicted, fits_measured=measured))
    return float(relative_error(predicted=predicted, measured=measured))


def scored(rows: Iterable[Row], predict: Predict) -> list[Scored]:
    """Every metric of every row that has it. `predict` sees cases, which hold no measurement."""
    known: dict[tuple[str, frozenset[tuple[str, str]]], Foreseen] = {}
    found: list[Scored] = []
    starts: defaultdict[object, list[int]] = defaultdict(list)
    for row in rows:
        key = (row.kind.name, frozenset(row.config.items()))
        if key not in known:
            known[key] = _foreseen(row.kind.name, row.config, predict)
        for one in _row(row, known[key]):
            if one.metric == OUTCOME:
                starts[key].append(len(found))
            found.append(one)
    for places in starts.values():
        if len({found[at].measured for at in places}) > 1:
            for at in places:
                found[at] = _unscored(found[at], "the same configuration started and failed")
    return found


def _foreseen(kind: str, config: Mapping[str, str], predict: Predict) -> Foreseen:
    try:
        asked = case(kind, config)
        return asked, predict(asked)
    except Unusable as why:
        return str(why)
    except LlmcalcError as impossible:
        return impossible.message


def _row(row: Row, foreseen: Foreseen) -> Iterator[Scored]:
    cells = {**row.config, **row.measured}
    for metric in METRICS[row.kind.name]:
        problem = ""
        measured = None
        try:
            measured = metric.measured(cells)
        except Unusable as why:
            problem = str(why)
        if measured is None and not problem:
            continue
        predicted, lacking = _predicted(metric, foreseen)
        why_not = row.broken or lacking or _remarked(row, metric, cells) or problem
        if not why_not and predicted is None:
            why_not = "no prediction of this number"
        yield Scored(
            row_id=row.id,
            group=group(row.kind.name, row.config, row.notes),
            metric=metric.name,
            predicted=predicted,
            measured=measured,
            error=None if why_not else error(metric.name, predicted or 0, measured or 0),
            skipped_because=why_not,
        )


def _predicted(metric: Metric, foreseen: Foreseen) -> tuple[float | None, str]:
    """The prediction of one metric, or why its configuration allows none."""
    if isinstance(foreseen, str):
        return None, foreseen
    asked, found = foreseen
    for aspect in metric.needs:
        if aspect in asked.missing:
            return None, asked.missing[aspect]
    size, weights = found.capacity, found.weights
    if not asked.ranks_stated and size and weights and weights > size:
        return None, "more than one GPU holds, and tp is not stated"
    return metric.predicted(found), ""


def _remarked(row: Row, metric: Metric, cells: Mapping[str, str]) -> str:
    """What keeps a row out whatever we say: a note that doubts it, numbers that cannot be."""
    if _DOUBTED.search(row.notes):
        return f"doubted in its notes: {row.notes}"
    if not metric.of_room:
        return ""
    if _UNTOLD.search(row.notes):
        return f"a setting that no column tells: {row.notes}"
    try:
        return impossible(cells)
    except Unusable as why:
        return str(why)


def _unscored(one: Scored, why: str) -> Scored:
    return replace(one, error=None, skipped_because=one.skipped_because or why)
