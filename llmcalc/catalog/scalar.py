"""What an unquoted word in YAML means here: the JSON types, and text for everything else.

YAML 1.1 would read `no` as false, `010` as eight, `1:30` as ninety and `2024-12-01` as a date.
"""

from __future__ import annotations

import re

Scalar = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_ENDLESS = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_MOST_DIGITS = 40


def plain(text: str) -> Scalar:
    """The value of an unquoted scalar. Raises ValueError for a number that is not finite."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        if len(text) > _MOST_DIGITS:
            raise ValueError(f"{text[:12]}… is a number of {len(text)} digits")
        return int(text)
    if _ENDLESS.fullmatch(text):
        raise ValueError(f"{text} is no finite number")
    if _FLOAT.fullmatch(text) and not _has_leading_zero(text):
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise ValueError(f"{text[:20]} is no finite number")
        return number
    return text


def _has_leading_zero(text: str) -> bool:
    """Whether the text is digits alone after a zero (`010`), which YAML 1.1 takes for octal."""
    return text.lstrip("+-").isdigit()
