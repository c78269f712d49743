"""The page that a report is set on: units, width and colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Units = Literal["gib", "gb", "bytes"]
"""How memory is shown."""

Style = Literal["bold", "dim", "green", "yellow", "red"]

_CODES: dict[Style, str] = {"bold": "1", "dim": "2", "green": "32", "yellow": "33", "red": "31"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Where text goes: a screen of some width, or a pipe of none."""

    units: Units = "gib"
    width: int | None = None
    """Columns, None: no limit."""
    terminal: bool = False
    """Rules under headers are drawn; a pipe gets none."""
    colour: bool = False

    def styled(self, text: str, style: Style | None) -> str:
        """The text in a style, where the page has colour."""
        if style is None or not self.colour or not text:
            return text
        return f"\033[{_CODES[style]}m{text}\033[0m"

    def wrapped(self, text: str, *, first: str = "", then: str = "") -> list[str]:
        """Lines of whole words after the indents `first` and `then`, however long a word is."""
        if self.width is None:
            return [first + text]
        from textwrap import wrap  # noqa: PLC0415  (a pipe needs none of it)

        return wrap(
            text,
            max(self.width, len(then) + 1),
            initial_indent=first,
            subsequent_indent=then,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [first.rstrip()]
