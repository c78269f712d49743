"""How `fit --train` looks: as `fit` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from llmcalc.api.bands import off, step_band
from llmcalc.api.fit_tables import COLUMNS, FIRST
from llmcalc.api.plans import plan
from llmcalc.api.train_advice import ways
from llmcalc.api.train_changes import Change, options
from llmcalc.engines.largest import bounded
from llmcalc.report.model import Column, Deferred, Row, Table

if TYPE_CHECKING:
    from llmcalc.api.trained import Trained


def overview(placed: Sequence[Trained], *, everything: bool) -> tuple[Table, ...]:
    """The whole selection; a first screen shows the best of each verdict."""
    if everything:
        return (_models(placed),)
    first = [
        one for verdict, few in FIRST.items()
        for one in [each for each in placed if each.verdict == verdict][:few]
    ]  # fmt: skip
    left = len(placed) - len(first)
    note = "fit MODEL --train METHOD says what would make it fit"
    note += f"; {left} more, --all lists them" if left else ""
    return (replace(_models(placed), brief=tuple(map(_row, first)), note=note),)


def named(placed: Sequence[Trained], lines: Mapping[str, str]) -> tuple[Table, ...]:
    """Each model in a row, and below it its parts, the line of `train` that is the same, advice."""
    return (
        _models(placed),
        *(table for one in placed for table in _details(one, lines.get(one.card.name, ""))),
    )


def _models(placed: Sequence[Trained]) -> Table:
    return Table(
        title="memory needed on each GPU in training" if placed else "no model matches",
        columns=COLUMNS,
        rows=Deferred(lambda: tuple(map(_row, placed))),
    )


def _row(one: Trained) -> Row:
    return (
        one.card.name, one.params, one.verdict, one.needs.peak, one.max_batch,
        bounded(one.max_context), one.limit,
    )  # fmt: skip


def _details(one: Trained, line: str) -> tuple[Table, ...]:
    needs, asked = one.needs, one.asked
    rows = [(name.replace("_", " "), size) for name, size in needs.parts.items() if size]
    rows += [
        ("runtime", needs.taken.total), ("needed", needs.peak), ("capacity", one.capacity),
        ("free", one.capacity - needs.peak),
    ]  # fmt: skip
    if host := one.host(asked):
        rows.append(("on hosts, of all GPUs", host))
    table = Table(
        title=f"{one.card.name}, {asked.method}, {asked.micro_batch} × {asked.seq:,} tokens",
        columns=(Column(key="part", title="part"), Column(key="bytes", title="size", unit="bytes")),
        rows=tuple(rows),
        note=f"{one.trainable:,} numbers are trained; {_off(one)}"
        + (f"; the same: llmcalc train {line} {options(asked)}".rstrip() if line else ""),
    )
    found = ways(one)
    return (table, _advice(one, found)) if found else (table,)


def _advice(one: Trained, found: Sequence[Change]) -> Table:
    """Changes, what each needs, and what to add to the command for it."""
    hosts = [one.host(change.asked) for change in found]
    columns = [
        Column(key="change", title="change"),
        Column(key="needed", title="needed", unit="bytes"),
        Column(key="verdict", title="verdict"),
        Column(key="add", title="add to the command"),
        Column(key="host", title="on hosts", unit="bytes"),
    ]
    rows = [
        (
            change.words, one.total(change.asked), one.verdict_of(change.asked),
            options(change.asked, one.asked, method="--train"), host or None,
        )
        for change, host in zip(found, hosts, strict=True)
    ]  # fmt: skip
    shown = len(columns) if any(hosts) else len(columns) - 1
    return Table(
        title="what would make it fit",
        columns=tuple(columns[:shown]),
        rows=tuple(row[:shown] for row in rows),
        note="on hosts: memory of the hosts of all GPUs together" if any(hosts) else "",
    )


def _off(one: Trained) -> str:
    """How far such peaks were off on public measurements."""
    band = step_band(plan(one.asked), one.ledger)
    if band is None:
        return "modelled"
    return f"modelled, {off(band.p50, band.p90)} on public runs"
