"""The largest number whose need is within a budget: of sequences, tokens or layers."""

from __future__ import annotations

from collections.abc import Callable

UNBOUNDED = 2**40
"""Where growth is so slow that no budget ends it, as of a model whose every layer has a window."""


def bounded(tokens: int) -> int | None:
    """A longest context to show: None where nothing ends it."""
    return tokens if tokens < UNBOUNDED else None


def largest(need: Callable[[int], int], budget: int, limit: int | None = None) -> int:
    """The largest n up to the limit with need(n) ≤ budget, for a need that never falls; else 0.

    Growth is mostly straight: a guess on the straight line, and its next, mostly end the search;
    a halving between guesses bounds it where growth has kinks or steps.
    """
    low, high = 1, limit or UNBOUNDED
    at_low, at_high = need(low), need(high)
    if at_low > budget:
        return 0
    if at_high <= budget:
        return high
    while high - low > 1:
        along = low + (budget - at_low) * (high - low) // (at_high - at_low)
        for guess in (min(along, high - 1), min(along + 1, high - 1), (low + high) // 2):
            if not low < guess < high:
                continue
            needed = need(guess)
            if needed > budget:
                high, at_high = guess, needed
            else:
                low, at_low = guess, needed
    return low
