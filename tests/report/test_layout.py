"""No figure is ever cut, whatever the table and the width."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from llmcalc.report.layout import lines
from llmcalc.report.model import Column, Table, Unit, Value
from llmcalc.report.numbers import clean, shown
from llmcalc.report.page import Page

UNITS: list[Unit] = ["text", "count", "bytes", "flop", "seconds", "usd", "ratio", "percent", "rate"]
BOX = re.compile(r"[\u2500-\u257f\u001b]")

WORDS = st.text(st.characters(codec="utf-8"), max_size=40)
FLOATS = st.floats(1e-9, 1e15)
NUMBERS = st.none() | st.integers(-(10**18), 10**18) | FLOATS | FLOATS.map(lambda value: -value)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Any columns, any values that go with them."""
    units = draw(st.lists(st.sampled_from(UNITS), min_size=1, max_size=8))
    columns = tuple(
        Column(
            key=f"key{n}", title=draw(st.sampled_from(["a", "max batch", "per token"])), unit=unit
        )
        for n, unit in enumerate(units)
    )
    row = st.tuples(*[WORDS if unit == "text" else NUMBERS for unit in units])
    rows = draw(st.lists(row, max_size=6))
    return Table(columns=columns, rows=tuple(rows), title=draw(WORDS), note=draw(WORDS))


def _figures(table: Table) -> list[str]:
    def text(value: Value, column: Column) -> str:
        return shown(value, column.unit)

    return [
        text(value, column)
        for row in table.rows
        for value, column in zip(row, table.columns, strict=True)
        if column.unit != "text"
    ]


@given(table=tables(), width=st.none() | st.integers(1, 200), terminal=st.booleans())
def test_every_number_is_whole(table: Table, width: int | None, *, terminal: bool) -> None:
    words = "\n".join(lines(table, Page(width=width, terminal=terminal))).split()
    for figure in _figures(table):
        assert figure in words


@given(tables(), st.none() | st.integers(1, 200))
def test_every_word_of_a_text_is_whole(table: Table, width: int | None) -> None:
    words = set("\n".join(lines(table, Page(width=width))).split())
    texts = [value for row in table.rows for value in row if isinstance(value, str)]
    assert {word for text in texts for word in clean(text).split()} <= words


@given(tables())
def test_a_pipe_gets_a_line_a_row(table: Table) -> None:
    found = lines(table, Page())
    others = 1 + bool(clean(table.title)) + bool(clean(table.note))
    assert len(found) == len(table.rows) + others


@given(tables().filter(lambda table: not BOX.search(repr(table))), st.integers(1, 200))
def test_a_pipe_gets_no_boxes_and_no_colour(table: Table, width: int) -> None:
    assert not BOX.search("\n".join(lines(table, Page(width=width))))


@given(tables(), st.integers(80, 200))
def test_lines_stay_within_the_width(table: Table, width: int) -> None:
    longest = max(map(len, lines(table, Page(width=width, terminal=True))))
    assert longest <= width


def _table(*titles: str, rows: tuple[tuple[Value, ...], ...]) -> Table:
    columns = tuple(
        Column(key=title, title=title, unit="text" if n == 0 else "count")
        for n, title in enumerate(titles)
    )
    return Table(columns=columns, rows=rows)


def test_numbers_are_aligned_to_the_right_and_text_to_the_left() -> None:
    table = _table("model", "params", rows=(("gpt2", 124_439_808), ("tiny", 7)))
    assert lines(table, Page()) == [
        "model       params",
        "gpt2   124,439,808",
        "tiny             7",
    ]


def test_a_header_folds_before_a_row_does() -> None:
    table = _table("model", "most parameters", rows=(("gpt2", 124_439_808),))
    assert lines(table, Page(width=18)) == [
        "              most",
        "model   parameters",
        "gpt2   124,439,808",
    ]


def test_what_cannot_fit_becomes_records() -> None:
    table = _table("model", "params", rows=(("gpt2", 124_439_808), ("tiny", 7)))
    expected = ["model: gpt2", "params:", "  124,439,808", "", "model: tiny", "params: 7"]
    assert lines(table, Page(width=12)) == expected
