"""How many bytes does one tensor take in a format? Whole items of every plane, scales included."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from llmcalc.spec.storage import ElementFormat, Plane

Shape = tuple[int, ...]


def tensor_bytes(shape: Shape, format: ElementFormat, group: int | None = None) -> int:
    """Bytes of a tensor, its scales, zeros and indices included."""
    return sum(units * size for _, units, size in planes(shape, format, group))


def planes(
    shape: Shape, format: ElementFormat, group: int | None = None
) -> Iterator[tuple[str, int, int]]:
    """Name of each plane, how many units it has, and the bytes of a unit."""
    cols = shape[-1]
    rows = shape[-2] if len(shape) > 1 else 1
    matrices = prod(shape[:-2])
    for plane in format.planes:
        units = _units(plane, rows, cols, group)
        yield plane.name, matrices * units, (plane.word or plane.bits) // 8


def _units(plane: Plane, rows: int, cols: int, group: int | None) -> int:
    """Items of one matrix, or the words that they are packed into."""
    items = _tiles(plane, rows, cols, group)
    return -(-items * plane.bits // plane.word) if plane.word else items


def _tiles(plane: Plane, rows: int, cols: int, group: int | None) -> int:
    if plane.run:
        return -(-rows * cols // plane.run)
    down = 1 if plane.rows == "all" else -(-rows // plane.rows)
    wide = group if plane.cols == "group" else plane.cols
    across = 1 if wide == "all" or wide is None else -(-cols // wide)
    return down * across
