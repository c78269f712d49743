"""How `validate` looks: errors by group, the worst rows, and why others are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from llmcalc.checks.measured.score import Scored
from llmcalc.checks.measured.statistics import Summary
from llmcalc.report.model import Column, Table

WORST = 10
"""Rows in the table of the worst, and of reasons, on a first screen."""

_GROUP = (Column(key="group", title="group"), Column(key="metric", title="metric"))
_ROW = (
    Column(key="row_id", title="row"),
    Column(key="predicted", title="predicted", unit="rate"),
    Column(key="measured", title="measured", unit="rate"),
    Column(key="error", title="error", unit="percent"),
)


def tables(found: Sequence[Summary], *, rows: bool) -> tuple[Table, ...]:
    """Errors, fits or not, worst rows, reasons; with `rows` every row instead of the last two."""
    detail = (_rows(found),) if rows else (_worst(found), _reasons(found))
    return tuple(table for table in (_errors(found), _outcomes(found), *detail) if table.rows)


def _errors(found: Sequence[Summary]) -> Table:
    rows = tuple(
        (one.group, one.metric, one.n, one.skipped, one.error_p50, one.error_p90, one.bias)
        for one in found
    )
    scored = tuple(
        row for row, one in zip(rows, found, strict=True) if one.n and one.false_fits is None
    )
    return Table(
        title="error of the predictions",
        columns=(
            *_GROUP,
            Column(key="n", title="n", unit="count"),
            Column(key="skipped", title="skipped", unit="count"),
            Column(key="error_p50", title="p50", unit="percent"),
            Column(key="error_p90", title="p90", unit="percent"),
            Column(key="bias", title="bias", unit="percent"),
        ),
        rows=rows,
        brief=scored,
        note=_left(sum(not one.n for one in found)),
    )


def _left(groups: int) -> str:
    if not groups:
        return ""
    told = "1 group has" if groups == 1 else f"{groups} groups have"
    return f"{told} no row to score; --csv and --json list them"


def _outcomes(found: Sequence[Summary]) -> Table:
    return Table(
        title="fits or not",
        columns=(
            Column(key="group", title="group"),
            Column(key="right", title="right", unit="count"),
            Column(key="n", title="of", unit="count"),
            Column(key="false_fits", title="false fits", unit="count"),
            Column(key="false_refusals", title="false refusals", unit="count"),
        ),
        rows=tuple(
            (one.group, one.n - one.false_fits - (one.false_refusals or 0), one.n,
             one.false_fits, one.false_refusals)
            for one in found
            if one.false_fits is not None and one.n
        ),
    )  # fmt: skip


def _worst(found: Sequence[Summary]) -> Table:
    rows = sorted(
        (row for one in found for row in one.worst),
        key=lambda row: (-abs(row.error or 0), row.row_id),
    )
    return Table(
        title="worst rows",
        columns=(*_GROUP, *_ROW),
        rows=tuple((row.group, row.metric, *_numbers(row)) for row in rows[:WORST]),
    )


def _reasons(found: Sequence[Summary]) -> Table:
    told: Counter[str] = Counter()
    for one in found:
        told.update(one.skipped_because)
    rows = tuple((count, why) for why, count in told.most_common())
    left = f"; {len(rows) - WORST} more reasons with --csv" if len(rows) > WORST else ""
    return Table(
        title="skipped",
        columns=(
            Column(key="skipped", title="numbers", unit="count"),
            Column(key="because", title="because"),
        ),
        rows=rows,
        brief=rows[:WORST],
        note=f"a row counts once for each of its metrics{left}",
    )


def _rows(found: Sequence[Summary]) -> Table:
    return Table(
        title="rows",
        columns=(*_GROUP, *_ROW, Column(key="skipped_because", title="skipped because")),
        rows=tuple(
            (row.group, row.metric, *_numbers(row), row.skipped_because)
            for one in found
            for row in one.rows
        ),
    )


def _numbers(row: Scored) -> tuple[str, float | None, float | None, float | None]:
    return row.row_id, row.predicted, row.measured, row.error
