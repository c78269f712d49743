"""`validate`: what we predict against what engines printed, by engine, version and metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from llmcalc.api import validate_tables as tables
from llmcalc.api.predict import predict
from llmcalc.checks.measured.metrics import METRICS
from llmcalc.checks.measured.reading import Row, read, shipped
from llmcalc.checks.measured.score import Scored, error, scored
from llmcalc.checks.measured.statistics import Summary, quantile, summaries
from llmcalc.formula import about, is_recording, quietly, record, recording, symbol
from llmcalc.report.model import Report

HOW = {
    "seen": "a prediction sees what was configured, never what was measured",
    "silence": "an empty setting is the engine's default; one GPU where no split is told",
    "units": "GB in the logs of vLLM and SGLang is GiB",
    "error": "predicted / measured - 1; of outcomes, predicted less measured, 1 where it started",
    "error_p50": "median of the absolute errors",
    "error_p90": "their ninetieth percentile",
    "bias": "median of the signed errors",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateResult:
    """One metric of one engine and version; numbers are in the unit of the metric's name."""

    group: str
    """Runtime, or engine; `given cache` where the engine was given the bytes of its cache."""
    metric: str
    n: int
    """Rows that are scored."""
    skipped: int
    error_p50: float | None
    """Median of the absolute relative errors; null where no row is scored."""
    error_p90: float | None
    bias: float | None
    """Median of the signed relative errors, above 0 where too much is predicted."""
    false_fits: int | None
    """Of outcomes: said to fit, did not start. Null for other metrics."""
    false_refusals: int | None
    """Of outcomes: said not to fit, started."""
    worst: tuple[Scored, ...]
    """The rows that are most off."""
    skipped_because: Mapping[str, int]
    """Why rows are not scored, and how many."""
    rows: tuple[Scored, ...] | None
    """Every row, with --rows."""
    basis: Literal["exact"]
    assumptions: Mapping[str, str]


def validate(data: Sequence[str] = (), *, rows: bool = False) -> Report:
    """Score the predictions on the named files, or on the measurements that ship with llmcalc.

    Raises UnknownNameError where there is no such file, InvalidFileError for one whose header is
    none of those that ship.
    """
    measured = [row for path in data or shipped() for row in read(path)]
    with quietly():
        found = summaries(scored(measured, predict))
    _explain(found)
    return Report(
        command="validate",
        results=tuple(_result(one, rows=rows) for one in found),
        tables=tables.tables(found, rows=rows),
        assumptions=tuple(f"{name}: {what}" for name, what in HOW.items()),
        warnings=_warnings(measured, found),
    )


def _result(one: Summary, *, rows: bool) -> ValidateResult:
    return ValidateResult(
        group=one.group,
        metric=one.metric,
        n=one.n,
        skipped=one.skipped,
        error_p50=one.error_p50,
        error_p90=one.error_p90,
        bias=one.bias,
        false_fits=one.false_fits,
        false_refusals=one.false_refusals,
        worst=one.worst,
        skipped_because=one.skipped_because,
        rows=one.rows if rows else None,
        basis="exact",
        assumptions={**HOW, "predicted": _how(one.metric)},
    )


def _how(metric: str) -> str:
    """How the metric is predicted, in words; engines that print the same mean the same."""
    told = {one.how: None for kind in METRICS.values() for one in kind if one.name == metric}
    return "; or ".join(told)


def _explain(found: Iterable[Summary]) -> None:
    """Record the errors of the worst rows, and the quantiles of each group, worked out."""
    if not is_recording():
        return
    for one in found:
        with recording() as steps:
            _worked(one)
        for step in steps:
            told = f"predicted is {_how(one.metric)}" if "predicted" in step.values else ""
            record(replace(step, note=told or f"of {one.n} errors"))


def _worked(one: Summary) -> None:
    name = symbol(one.group.replace(",", ""), one.metric)
    scored = [row for row in one.rows if row.error is not None]
    for row in one.worst or scored[:1]:
        with about(f"{name} {row.row_id}"):
            error(one.metric, row.predicted or 0, row.measured or 0)
    errors = [abs(row.error) for row in scored if row.error is not None]
    for word, q in (("p50", 0.5), ("p90", 0.9)):
        with about(f"{name} {word}"):
            _ = errors and quantile(errors, q)


def _warnings(measured: Sequence[Row], found: Sequence[Summary]) -> tuple[str, ...]:
    if not measured:
        return ("no row under the header",)
    if not any(one.n for one in found):
        return ("no row could be scored; --rows tells why",)
    return ()
