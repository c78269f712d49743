"""What stands in a cell: numbers as logs and tables write them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from llmcalc.checks.measured.unusable import Unusable

_LARGEST = 1e18
_UNKNOWN = frozenset({"-", "?", "n/a", "na", "none", "null", "unknown", "unstated", "nan"})


def text(cells: Mapping[str, str], name: str) -> str | None:
    """A cell, or None where it is empty or says that nobody knows."""
    cell = cells.get(name, "")
    return None if cell.lower() in _UNKNOWN or not cell else cell


def number(cells: Mapping[str, str], name: str) -> float | None:
    """A number of at least 0, or None for an empty cell. Raises Unusable for anything else."""
    cell = text(cells, name)
    if cell is None:
        return None
    value = _float(cell, name)
    if value < 0:
        raise Unusable(f"{name} {cell} is negative")
    return value


def signed(cells: Mapping[str, str], name: str) -> float | None:
    """A number, or None for an empty cell. Raises Unusable for anything else."""
    cell = text(cells, name)
    return None if cell is None else _float(cell, name)


def whole(cells: Mapping[str, str], name: str) -> int | None:
    """A count of at least 1, or None for an empty cell. Raises Unusable for anything else."""
    value = number(cells, name)
    if value is None:
        return None
    if value < 1 or value != int(value):
        raise Unusable(f"{name} {cells[name]} is no count")
    return int(value)


def switch(cells: Mapping[str, str], name: str) -> bool | None:
    """A switch, or None for an empty cell."""
    cell = text(cells, name)
    return None if cell is None else cell.lower() not in {"0", "no", "false", "off", "disabled"}


def leading(cell: str) -> float | None:
    """The number that a cell starts with, as in `4.58 GiB (4.89 BPW)`."""
    match = re.match(r"\s*(\d+(?:\.\d+)?)", cell)
    return float(match[1]) if match else None


def _float(cell: str, name: str) -> float:
    try:
        value = float(cell.replace(",", ""))
    except ValueError:
        raise Unusable(f"{name} {cell[:40]!r} is no number") from None
    if not math.isfinite(value) or abs(value) > _LARGEST:
        raise Unusable(f"{name} {cell[:40]} is no number to compute with")
    return value
