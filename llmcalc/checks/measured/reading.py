"""From a file of measurements to rows, each with what was configured apart from what came out."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import StringIO

import llmcalc
from llmcalc.catalog.files import content
from llmcalc.checks.measured.kinds import KINDS, Kind, nearest, recognised
from llmcalc.errors import InvalidFileError

LARGEST = 2**26
"""Bytes of a file; ten thousand rows have a few million."""

Cells = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measurement. Empty cells are left out of both halves."""

    id: str
    kind: Kind
    config: Cells
    """All that a prediction may see."""
    measured: Cells
    notes: str = ""
    broken: str = ""
    """Why the line cannot be read, if so."""


def shipped() -> tuple[str, ...]:
    """The files of public measurements that come with the package."""
    folder = os.path.join(os.path.dirname(os.path.abspath(llmcalc.__file__)), "measurements")
    with os.scandir(folder) as entries:
        return tuple(sorted(entry.path for entry in entries if entry.name.endswith(".tsv")))


def read(path: str) -> list[Row]:
    """The rows of a TSV or CSV file, recognised by its header.

    Raises UnknownNameError where there is no file, InvalidFileError for one of another form.
    """
    try:
        text = content(path, LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{path}: the file is no UTF-8 text (byte {error.start:,})"
        raise InvalidFileError(message, hint="save it as UTF-8") from None
    lines = _lines(text, path)
    header = next(lines, (0, []))[1]
    if not header:
        raise InvalidFileError(f"{path}: the file is empty", hint=_known())
    kind = _kind(path, header)
    stem = os.path.splitext(os.path.basename(path))[0]
    return [_row(kind, header, cells, f"{stem}:{number}") for number, cells in lines]


def _lines(text: str, path: str) -> Iterator[tuple[int, list[str]]]:
    """Numbered lines as cells: tabs where the first line has one, commas otherwise."""
    first = text.lstrip("\r\n").partition("\n")[0]
    cells = _separated_by_tabs(text) if "\t" in first else _separated_by_commas(text, path)
    return ((number, row) for number, row in cells if any(row))


def _separated_by_tabs(text: str) -> Iterator[tuple[int, list[str]]]:
    """Cells are as they stand: a log may hold quotes."""
    for number, line in enumerate(text.split("\n"), start=1):
        yield number, [cell.strip() for cell in line.split("\t")]


def _separated_by_commas(text: str, path: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(StringIO(text, newline=""))
    try:
        for cells in reader:
            yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        message = f"{path}:{reader.line_num}: the line is no CSV ({error})"
        raise InvalidFileError(message, hint="quote cells as RFC 4180 says") from None


def _kind(path: str, header: list[str]) -> Kind:
    kind = recognised(frozenset(header))
    if kind:
        return kind
    near = nearest(frozenset(header))
    if near is None:
        raise InvalidFileError(f"{path}:1: no known header of measurements", hint=_known())
    kind, missing = near
    s = "" if len(missing) == 1 else "s"
    message = f"{path}:1: a {kind.name} file misses the column{s} {', '.join(sorted(missing))}"
    raise InvalidFileError(message, hint="columns may be empty, but must be there")


def _known() -> str:
    """The headers that are recognised, each by words that no other has."""
    own = {
        kind.name: kind.required - {name for other in KINDS if other is not kind
                                    for name in other.required}
        for kind in KINDS
    }  # fmt: skip
    shown = (f"{name} ({', '.join(sorted(words)[:3])}, …)" for name, words in own.items())
    return f"the header is that of one of the shipped files: {'; '.join(shown)}"


def _row(kind: Kind, header: list[str], cells: list[str], place: str) -> Row:
    given = {name: cell for name, cell in zip(header, cells, strict=False) if cell}
    over = len(cells) > len(header) and any(cells[len(header) :])
    return Row(
        id=given.get("row_id") or given.get("id") or place,
        kind=kind,
        config={name: cell for name, cell in given.items() if name in kind.config},
        measured={name: cell for name, cell in given.items() if name in kind.measured},
        notes=given.get("notes", ""),
        broken=f"{len(cells)} cells under {len(header)} columns" if over else "",
    )
