"""How `check` looks: what differs first, then one line that counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llmcalc.report.model import Column, Table

if TYPE_CHECKING:
    from llmcalc.api.check import CheckItem, CheckResult

_NUMBERS = (
    Column(key="check", title="check"),
    Column(key="expected", title="expected", unit="count"),
    Column(key="got", title="got", unit="count"),
)


def tables(results: Sequence[CheckResult]) -> tuple[Table, ...]:
    """All numbers of a single card; of many, those that differ."""
    if len(results) == 1 and results[0].ok:
        return (_single(results[0]),)
    rows = tuple(
        (one.card, item.name, item.expected, item.got, _difference(item))
        for one in results
        for item in one.checks
        if not item.ok
    )
    columns = (
        Column(key="card", title="card"),
        *_NUMBERS,
        Column(key="difference", title="difference", unit="count"),
    )
    return (Table(title="differences", columns=columns, rows=rows),) if rows else ()


def summary(results: Sequence[CheckResult]) -> str:
    """Why numbers may differ, place by place, and the count of all cards."""
    lines = []
    for one in results:
        for line, hint in dict.fromkeys(
            (item.line, item.hint) for item in one.checks if not item.ok
        ):
            names = [item.name for item in one.checks if (item.line, item.hint) == (line, hint)]
            lines.append(f"{place(one, line)}: {', '.join(dict.fromkeys(names))}: {hint}")
    return "\n".join([*lines, *([""] if lines else []), counted(results)])


def place(one: CheckResult, line: int) -> str:
    """`file:line`, or the name of a card without a file."""
    where = one.file or one.card
    return f"{where}:{line}" if line and one.file else where


def counted(results: Sequence[CheckResult]) -> str:
    """One line: how many agree, how many differ, how many could be held against a publication."""
    if not results:
        return "no card to check"
    invalid = sum(_is_invalid(one) for one in results)
    differ = sum(not one.ok for one in results) - invalid
    agree = len(results) - differ - invalid
    published = sum(any(item.name == "published" for item in one.checks) for one in results)
    comparisons = sum(len(one.checks) for one in results)
    told = [f"{agree} agree"]
    told += [f"{differ} {'differs' if differ == 1 else 'differ'}"] if differ else []
    told += [f"{invalid} invalid"] if invalid else []
    cards = f"{len(results)} card{'' if len(results) == 1 else 's'}"
    return (
        f"{cards}: {', '.join(told)}; {comparisons:,} comparisons, "
        f"{published} with a published count"
    )


def _single(one: CheckResult) -> Table:
    rows = tuple((item.name, item.expected, item.got, item.ok) for item in one.checks)
    columns = (*_NUMBERS, Column(key="ok", title="equal"))
    return Table(title=one.card, columns=columns, rows=rows)


def _difference(item: CheckItem) -> int | None:
    return None if item.got is None or item.expected is None else item.got - item.expected


def _is_invalid(one: CheckResult) -> bool:
    return any(item.name == "schema" and not item.ok for item in one.checks)
