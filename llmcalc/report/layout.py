"""One table as lines: columns where they fit, else a record a row. No figure is ever cut."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from llmcalc.report.model import Column, Table
from llmcalc.report.numbers import clean, heading, shown
from llmcalc.report.page import Page, Style

GAP = "  "
NARROWEST = 16
"""A text column is not wrapped to less than this; the table turns into records instead."""

_VERDICTS: dict[str, Style] = {"fits": "green", "tight": "yellow", "no": "red"}


def lines(table: Table, page: Page) -> list[str]:
    """The table with its title and its note, rows in the order given."""
    head = [heading(column, page.units) for column in table.columns]
    cells = [
        [
            shown(value, column.unit, page.units)
            for value, column in zip(row, table.columns, strict=True)
        ]
        for row in (table.rows if table.brief is None else table.brief)
    ]
    widths = _fitting(table.columns, head, cells, page.width)
    if widths is None:
        body = _records(head, cells, page)
    else:
        body = _grid(table.columns, head, cells, widths, page)
    title, note = (
        page.wrapped(text) if text else [] for text in map(clean, (table.title, table.note))
    )
    gap = [""] if note and widths is None else []
    return [*(page.styled(line, "bold") for line in title), *body, *gap, *note]


def _fitting(
    columns: Sequence[Column], head: list[str], cells: list[list[str]], width: int | None
) -> list[int] | None:
    """Widths as they are, with folded headers, or with one text narrowed; None: it cannot fit."""
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    if width is None or _total(widths) <= width:
        return widths
    folded = [max(map(len, words)) for words in zip(map(_longest, head), *cells, strict=True)]
    excess = _total(folded) - width
    if excess <= 0:
        return folded
    at = max(range(len(folded)), key=lambda n: (columns[n].unit == "text", folded[n]))
    words = max((len(_longest(row[at])) for row in [head, *cells]), default=0)
    if columns[at].unit != "text" or folded[at] - excess < max(NARROWEST, words):
        return None
    return [*folded[:at], folded[at] - excess, *folded[at + 1 :]]


def _total(widths: list[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _longest(text: str) -> str:
    """The longest word, which no column may break."""
    return max(text.split(), key=len, default="")


def _grid(
    columns: Sequence[Column],
    head: list[str],
    cells: list[list[str]],
    widths: list[int],
    page: Page,
) -> list[str]:
    rule = ["─" * _total(widths)] if page.terminal else []
    top = [
        page.styled(GAP.join(_padded(part, columns, widths)).rstrip(), "bold")
        for part in _parts(head, widths, at_bottom=True)
    ]
    body = [
        GAP.join(map(page.styled, _padded(part, columns, widths), _styles(part, columns))).rstrip()
        for row in cells
        for part in _parts(row, widths)
    ]
    return [*top, *rule, *body]


def _padded(row: Sequence[str], columns: Sequence[Column], widths: list[int]) -> list[str]:
    """Text to the left, numbers to the right."""
    return [
        cell.ljust(width) if column.unit == "text" else cell.rjust(width)
        for cell, column, width in zip(row, columns, widths, strict=True)
    ]


def _styles(row: Sequence[str], columns: Sequence[Column]) -> list[Style | None]:
    return [
        _VERDICTS.get(cell) if column.key == "verdict" else None
        for cell, column in zip(row, columns, strict=True)
    ]


def _parts(row: list[str], widths: list[int], *, at_bottom: bool = False) -> list[tuple[str, ...]]:
    """A row as the lines it takes: one, unless a header or a text was folded."""
    if all(len(cell) <= width for cell, width in zip(row, widths, strict=True)):
        return [tuple(row)]
    folded = [Page(width=width).wrapped(cell) for cell, width in zip(row, widths, strict=True)]
    if at_bottom:
        return list(zip_longest(*map(reversed, folded), fillvalue=""))[::-1]
    return list(zip_longest(*folded, fillvalue=""))


def _records(head: list[str], cells: list[list[str]], page: Page) -> list[str]:
    """Each row as `key: value` lines, rows apart; a long value goes below its key."""
    found: list[str] = []
    for row in cells:
        found += [""] if found else []
        for key, value in zip(head, row, strict=True):
            line = f"{key}: {value}" if key else value
            if len(line) <= (page.width or 0):
                found.append(line)
            else:
                found += [
                    *([f"{key}:"] if key else []),
                    *page.wrapped(value, first="  ", then="  "),
                ]
    return found
