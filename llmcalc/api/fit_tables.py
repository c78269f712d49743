"""How `fit` looks: a first screen that answers, and the details of models that were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from llmcalc.api.bands import banded, basis_shown
from llmcalc.api.setup import shown
from llmcalc.engines.largest import bounded
from llmcalc.report.model import Column, Deferred, Row, Table

if TYPE_CHECKING:
    from llmcalc.api.fit import Placed
    from llmcalc.planner.advice import Advice
    from llmcalc.planner.fit import Ask

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
    first, rest = _first_screen(placed)
    return (replace(_models(placed), brief=tuple(map(_row, first)), note=_counted(rest)),)


def named(placed: Sequence[Placed], ask: Ask) -> tuple[Table, ...]:
    """Each model in a row, and below it its parts and advice."""
    details = (table for one in placed for table in _details(one, ask))
    return (_models(placed), *details)


def _models(placed: Sequence[Placed]) -> Table:
    return Table(
        title="memory needed on each GPU" if placed else "no model matches",
        columns=COLUMNS,
        rows=Deferred(lambda: tuple(map(_row, placed))),
    )


def _row(one: Placed) -> Row:
    found = one.found
    return (
        one.card.name, one.count.total, found.verdict, found.needed, found.max_batch,
        bounded(found.max_context), LIMITS.get(found.limit, found.limit),
    )  # fmt: skip


def _first_screen(placed: Sequence[Placed]) -> tuple[list[Placed], list[Placed]]:
    """The first few of each verdict, and the rest."""
    seen: Counter[str] = Counter()
    first: list[Placed] = []
    rest: list[Placed] = []
    for one in placed:
        seen[one.found.verdict] += 1
        few = seen[one.found.verdict] <= FIRST[one.found.verdict]
        (first if few else rest).append(one)
    return first, rest


def _counted(rest: Sequence[Placed]) -> str:
    """The models that a first screen leaves out, as a count."""
    hidden = [one.found for one in rest]
    counts = Counter("context" if found.limit == "context" else found.verdict for found in hidden)
    words = {
        "fits": "{} more fit",
        "tight": "{} more are tight",
        "no": "{} need more memory",
        "context": "{} have a shorter context",
    }
    told = [words[verdict].format(counts[verdict]) for verdict in words if counts[verdict]]
    return f"{', '.join(told)}; --all lists them" if told else ""


def _details(one: Placed, ask: Ask) -> tuple[Table, ...]:
    found = one.found
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
    changes = one.advice(ask)
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
