"""How `fit` looks: a first screen that answers, and the details of models that were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from llmcalc.api.bands import banded, basis_shown
from llmcalc.api.setup import shown
from llmcalc.engines.largest import bounded
from llmcalc.report.model import Column, Deferred, Row, Table

if TYPE_CHECKING:
    from llmcalc.api.fit import Placed
    from llmcalc.planner.advice import Advice

FIRST = {"fits": 10, "tight": 4, "no": 0}
"""Rows of a first screen, which has 24 lines for its header and assumptions too."""

LIMITS: dict[str, str | None] = {"kv_cache": "kv cache", "nothing": None}

COLUMNS = (
    Column(key="model", title="model"),
    Column(key="params", title="params B", unit="billions"),
    Column(key="verdict", title="verdict"),
    Column(key="needed", title="needed", unit="bytes"),
    Column(key="max_batch", title="max batch", unit="count"),
    Column(key="max_context", title="max context", unit="tokens"),
    Column(key="limit", title="limit"),
)


def overview(placed: Sequence[Placed], *, everything: bool) -> tuple[Table, ...]:
    """The whole selection; a first screen shows the best, and counts the rest."""
    if everything:
        return (_models(placed),)
    first = _first_screen(placed)
    note = _counted(Counter(map(_answer, placed)) - Counter(map(_answer, first)))
    return (replace(_models(placed), brief=tuple(map(_row, first)), note=note),)


def named(placed: Sequence[Placed]) -> tuple[Table, ...]:
    """Each model in a row, and below it its parts and advice."""
    details = (table for one in placed for table in _details(one))
    return (_models(placed), *details)


def _models(placed: Sequence[Placed]) -> Table:
    return Table(
        title="memory needed on each GPU" if placed else "no model matches",
        columns=COLUMNS,
        rows=Deferred(lambda: tuple(map(_row, sorted(placed, key=attrgetter("rank"))))),
    )


def _row(one: Placed) -> Row:
    found = one.found
    return (
        one.card.name, one.count.total, found.verdict, found.needed, found.max_batch,
        bounded(found.max_context), LIMITS.get(found.limit, found.limit),
    )  # fmt: skip


def _first_screen(placed: Sequence[Placed]) -> list[Placed]:
    """The largest few of each verdict."""
    return [
        one
        for verdict, few in FIRST.items() if few
        for one in sorted(
            (each for each in placed if each.verdict == verdict), key=attrgetter("rank")
        )[:few]
    ]  # fmt: skip


def _answer(one: Placed) -> str:
    """The verdict, and whether it is for the context."""
    return "context" if one.too_long else one.verdict


def _counted(left: Counter[str]) -> str:
    """The models that a first screen leaves out, as a count of each answer."""
    words = {
        "fits": "{} more fit",
        "tight": "{} more are tight",
        "no": "{} need more memory",
        "context": "{} have a shorter context",
    }
    told = [words[answer].format(left[answer]) for answer in words if left[answer]]
    return f"{', '.join(told)}; --all lists them" if told else ""


def _details(one: Placed) -> tuple[Table, ...]:
    ask, found = one.ask, one.found
    parts = banded(found.stage.parts(found.batch, found.seq), ask.runtime)
    rows = [(part.name, part.bytes, basis_shown(part)) for part in parts if part.bytes]
    sums = (
        ("needed", found.needed, "modelled"),
        ("capacity", ask.capacity, ""),
        ("free", found.free, ""),
    )
    where = f" ({shown(found.parallel)})" if found.parallel.gpus > 1 else ""
    table = Table(
        title=f"{one.card.name}, {ask.batch} × {found.seq:,} tokens, each GPU{where}",
        columns=(
            Column(key="part", title="part"),
            Column(key="bytes", title="size", unit="bytes"),
            Column(key="basis", title="basis"),
        ),
        rows=(*rows, *sums),
        note=_context_note(one),
    )
    changes = one.advice()
    return (table, advice(changes)) if changes else (table,)


def _context_note(one: Placed) -> str:
    if one.found.limit != "context":
        return ""
    return f"{one.card.name} was made for {one.found.seq:,} tokens; the sizes hold for those"


def advice(changes: Sequence[Advice], typed: str = "type") -> Table:
    """Changes, what each needs, and what to type for it."""
    return Table(
        title="what would make it fit",
        columns=(
            Column(key="change", title="change"),
            Column(key="needed", title="needed", unit="bytes"),
            Column(key="verdict", title="verdict"),
            Column(key="options", title=typed),
        ),
        rows=tuple((one.change, one.needed, one.verdict, one.options or None) for one in changes),
    )
