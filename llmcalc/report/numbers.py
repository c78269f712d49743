"""Numbers as people read them: whole, with separators, in the unit of their column."""

from __future__ import annotations

from collections.abc import Callable
from math import floor, log10

from llmcalc.report.model import Column, Unit, Value
from llmcalc.report.page import Units

NOTHING = "-"
SMALL = 0.1
"""Below it two decimals would say too little."""

BYTES: dict[Units, tuple[int, str]] = {
    "gib": (2**30, "GiB"),
    "gb": (10**9, "GB"),
    "bytes": (1, "bytes"),
}
"""What --units means: the divisor and its name."""


def heading(column: Column, units: Units) -> str:
    """The title of a column, with the unit where it holds memory: `needed GiB`."""
    return f"{column.title} {BYTES[units][1]}".strip() if column.unit == "bytes" else column.title


def shown(value: Value, unit: Unit, units: Units = "gib") -> str:
    """A value as it stands in a cell; None is a dash."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return clean(value)
    return size(value, units) if unit == "bytes" else _FORMS.get(unit, whole)(value)


def clean(text: str) -> str:
    """Text on one line without control characters, which a file could smuggle to a terminal."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def size(value: float, units: Units) -> str:
    """Bytes in the unit asked for: two decimals, four digits for what is below a tenth."""
    if units == "bytes":
        return whole(value)
    scaled = value / BYTES[units][0]
    return f"{scaled:,.2f}" if abs(scaled) >= SMALL or not value else significant(scaled, 4)


def whole(value: float) -> str:
    """A count with thousands separators; what is not whole keeps its decimals."""
    return f"{int(value):,}" if value == int(value) else f"{value:,}"


def significant(value: float, digits: int, least: int = 0) -> str:
    """So many digits, at least `least` decimals, no exponent and no zeros at the end."""
    if not value:
        return "0"
    decimals = max(least, digits - 1 - floor(log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _three_digits(value: float) -> str:
    """Three digits or more, aligned: 0.124, 13.0, 671, 1,026."""
    decimals = max(0, 2 - floor(log10(value))) if value else 0
    return f"{value:,.{decimals}f}"


def _usd(value: float) -> str:
    return f"{value:,.2f}" if abs(value) >= SMALL or not value else significant(value, 4)


_FORMS: dict[Unit, Callable[[float], str]] = {
    "ratio": lambda value: significant(value, 3),
    "percent": lambda value: f"{100 * value:,.1f}%",
    "usd": _usd,
    "seconds": lambda value: significant(value, 4),
    "rate": lambda value: significant(value, 4, least=1),
    "billions": lambda value: _three_digits(value / 10**9),
}
"""By unit; what is not named here is a count, and whole."""
