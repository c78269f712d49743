"""A report: what every command answers, before it takes a form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from llmcalc.formula import Step

Unit = Literal[
    "text",
    "count",
    "bytes",
    "flop",
    "tokens",
    "seconds",
    "usd",
    "ratio",
    "percent",
    "rate",
    "billions",
]
"""What a column holds; `bytes` is shown in GiB or as --units says, `count` and `flop` whole."""

Value = int | float | str | bool | None
Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: the key that CSV uses and the title that people read."""

    key: str
    title: str
    unit: Unit = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of values in base units (bytes, FLOP, seconds), one a column."""

    columns: tuple[Column, ...]
    rows: Sequence[Row]
    title: str = ""
    note: str = ""
    """One line below the table."""
    brief: tuple[Row, ...] | None = None
    """The rows that people see first; CSV and Markdown have all of them. None: all."""


class Deferred(Sequence[Any]):
    """Results or rows that are worked out when somebody reads them, as JSON does."""

    def __init__(self, make: Callable[[], Sequence[Any]]) -> None:
        self._make = make
        self._made: Sequence[Any] | None = None

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        """One of them, worked out with all the others the first time."""
        if self._made is None:
            self._made = self._make()
        return self._made[index]

    def __len__(self) -> int:
        """How many there are."""
        return len(self[:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The answer of one command."""

    command: str
    """As in the schema's name: `params` makes `llmcalc/params/1`."""
    results: Sequence[Any]
    """Result dataclasses; JSON prints them as they are."""
    tables: tuple[Table, ...]
    """What people, CSV and Markdown see."""
    text: str = ""
    """A document as it is, for an answer that is no table: a card, a schema."""
    assumptions: tuple[str, ...] = ()
    """Printed as the last line; each result carries its own in JSON."""
    steps: tuple[Step, ...] = ()
    """The worked solution, filled under --explain."""
    warnings: tuple[str, ...] = ()
    """For stderr."""
    exit_code: int = 0
