"""An optimizer: what it remembers of each tensor that it trains."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.spec.limits import Alias, Bool, Few, Line, Name, Width, WidthOrZero


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimizer:
    """States of a tensor: how many as large as itself, and what takes their place."""

    name: Name
    title: Line
    aliases: tuple[Alias, ...] = ()
    source: Line
    moments: Few
    """States with a number for each parameter."""
    matrix_moments: Few | None = None
    """The same for matrices of layers, where it is another number; tables and heads are none."""
    block: Width | None = None
    """States in 8 bits, so many of which share a float32 scale; None: in the recipe's width."""
    smallest: WidthOrZero = 0
    """Tensors with fewer elements keep float32 states where others have 8 bits."""
    wide: Bool = False
    """States are in float32 whatever the recipe."""
    factored: Bool = False
    """One state of matrices is a float32 sum of each row and each column instead."""
    rank: Width | None = None
    """Matrices are projected to so many rows or columns, and the projection is kept."""
    in_backward: Bool = False
    """Each tensor is stepped as soon as its gradient is there, which is then let go."""
    paged: Bool = False
    """States are in memory that the driver moves to the host when the device runs full."""
