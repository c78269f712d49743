"""The ranges that numbers and names in a file may take.

The classes speak pydantic's protocol (`__get_pydantic_core_schema__`) without importing it, so that
loading the spec stays free of it.
"""

from __future__ import annotations

from typing import Annotated, Any


class Range:
    """A number from `low` to `high`, both included; true and false are not numbers."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> dict[str, Any]:
        schema: dict[str, Any] = handler(source)
        bounds = {"ge": self.low, "le": self.high, "strict": True}
        if schema["type"] == "int":
            return schema | bounds
        return schema | bounds | {"allow_inf_nan": False}


class Text:
    """A string that matches `pattern`, which `words` says, with at most `longest` characters."""

    def __init__(self, pattern: str, longest: int, words: str) -> None:
        self.pattern, self.longest, self.words = pattern, longest, words

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> dict[str, Any]:
        schema: dict[str, Any] = handler(source)
        return schema | {"pattern": self.pattern, "max_length": self.longest, "strict": True}


class Flag:
    """A plain true or false, not a word or a number that could mean one."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> dict[str, Any]:
        schema: dict[str, Any] = handler(source)
        return schema | {"strict": True}


Width = Annotated[int, Range(1, 2**24)]
"""A width, a rank or a number of heads, experts or rows of one matrix."""

WidthOrZero = Annotated[int, Range(0, 2**24)]
Vocabulary = Annotated[int, Range(1, 2**27)]
Length = Annotated[int, Range(1, 2**40)]
"""A number of tokens."""

Params = Annotated[int, Range(1, 10**16)]
Few = Annotated[int, Range(0, 16)]
Times = Annotated[int, Range(1, 10_000)]
Year = Annotated[int, Range(2010, 2100)]
Amount = Annotated[float, Range(1e-9, 1e9)]
"""A positive physical quantity in the unit that its key names."""

Bool = Annotated[bool, Flag()]
Name = Annotated[
    str,
    Text(r"^[a-z0-9][a-z0-9._-]*$", 80, "a name of lower-case letters, digits, '.', '_' and '-'"),
]
Alias = Annotated[
    str,
    Text(r"^[A-Za-z0-9][A-Za-z0-9._/+-]*$", 120, "a name of letters, digits and any of ._/+-"),
]
Word = Annotated[
    str,
    Text(r"^[A-Za-z_][A-Za-z0-9_.-]*$", 80, "a word that starts with a letter, without spaces"),
]
Line = Annotated[
    str,
    Text(r"^[^\x00-\x08\x0b-\x1f]*\S[^\x00-\x08\x0b-\x1f]*$", 4000, "text that is not empty"),
]
"""Free text that says something."""
