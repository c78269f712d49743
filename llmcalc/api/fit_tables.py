"""How `fit` looks: a first screen that answers, and the details of models that were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from llmcalc.report.model import Column, Table

if TYPE_CHECKING:
    from llmcalc.api.fit import FitResult

FIRST = {"fits": 10, "tight": 4, "no": 0}
"""Rows of a first screen, which has 24 lines for its header and assumptions too."""

COLUMNS = (
    Column(key="model", title="model"),
    Column(key="params", title="params B", unit="billions"),
    Column(key="verdict", title="verdict"),
    Column(key="needed", title="needed", unit="bytes"),
    Column(key="max_batch", title="max batch", unit="count"),
    Column(key="max_context", title="max context", unit="tokens"),
    Column(key="limit", title="limit"),
)


def tables(results: Sequence[FitResult], *, named: bool, everything: bool) -> tuple[Table, ...]:
    """The overview, and below it parts and advice of named models."""
    if named:
        details = (table for result in results for table in _details(result))
        return (_overview(results, tuple(range(len(results))), ""), *details)
    brief = tuple(range(len(results))) if everything else _first_screen(results)
    return (_overview(results, brief, _rest(results, brief)),)


def _overview(results: Sequence[FitResult], brief: tuple[int, ...], note: str) -> Table:
    return Table(
        title="memory needed on each GPU" if results else "no model matches",
        columns=COLUMNS,
        rows=tuple(map(_row, results)),
        brief=brief,
        note=note,
    )


def _row(result: FitResult) -> tuple[str, int, str, int, int, int, str]:
    return (
        result.model, result.params, result.verdict, result.needed, result.max_batch, result.max_context,
        result.limit.replace("_", " "),
    )  # fmt: skip


def _first_screen(results: Sequence[FitResult]) -> tuple[int, ...]:
    """Where the first few of each verdict stand."""
    seen: Counter[str] = Counter()
    shown = []
    for position, result in enumerate(results):
        seen[result.verdict] += 1
        if seen[result.verdict] <= FIRST[result.verdict]:
            shown.append(position)
    return tuple(shown)


def _rest(results: Sequence[FitResult], brief: tuple[int, ...]) -> str:
    """The models that a first screen leaves out, as a count."""
    hidden = [result for position, result in enumerate(results) if position not in set(brief)]
    counts = Counter("context" if result.limit == "context" else result.verdict for result in hidden)
    words = {
        "fits": "{} more fit",
        "tight": "{} more are tight",
        "no": "{} need more memory",
        "context": "{} have a shorter context",
    }
    told = [words[verdict].format(counts[verdict]) for verdict in words if counts[verdict]]
    return f"{', '.join(told)}; --all lists them" if told else ""


def _details(result: FitResult) -> tuple[Table, ...]:
    rows = [(part.name, part.bytes, part.basis) for part in result.parts if part.bytes]
    sums = (("needed", result.needed, result.basis), ("capacity", result.capacity, ""), ("free", result.free, ""))
    parts = Table(
        title=f"{result.model}, {result.batch} × {result.seq:,} tokens, each GPU",
        columns=(
            Column(key="part", title="part"),
            Column(key="bytes", title="size", unit="bytes"),
            Column(key="basis", title="basis"),
        ),
        rows=(*rows, *sums),
        note=_context_note(result),
    )
    return (parts, _advice(result)) if result.advice else (parts,)


def _context_note(result: FitResult) -> str:
    if result.limit != "context":
        return ""
    return f"{result.model} was made for {result.seq:,} tokens; the sizes hold for those"


def _advice(result: FitResult) -> Table:
    return Table(
        title="what would make it fit",
        columns=(
            Column(key="change", title="change"),
            Column(key="needed", title="needed", unit="bytes"),
            Column(key="verdict", title="verdict"),
            Column(key="options", title="type"),
        ),
        rows=tuple((advice.change, advice.needed, advice.verdict, advice.options) for advice in result.advice),
    )
