"""A sequence of layer names as a short readable pattern: the inverse of `spec.pattern`."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_PERIOD = 64
"""Longer periods do not occur, and bounding them keeps a hostile sequence cheap."""


def compress(names: Sequence[str]) -> tuple[str, ...]:
    """Patterns that mean `names`: `3*dense`, `58*moe` or `10*(5*local global)`, `2*local`.

    At every layer the repetition that covers most of what follows is taken, the shortest of equals.
    """
    patterns: list[str] = []
    at = 0
    while at < len(names):
        period, times = _longest_repetition(names, at)
        patterns.append(_pattern(names[at : at + period], times))
        at += period * times
    return tuple(patterns)


def _longest_repetition(names: Sequence[str], start: int) -> tuple[int, int]:
    """How long a group starts here and how often it stands in a row."""
    best = (1, 1)
    for period in range(1, min(LONGEST_PERIOD, (len(names) - start) // 2) + 1):
        times = _times(names, start, period)
        if times > 1 and period * times > best[0] * best[1]:
            best = (period, times)
    return best


def _times(names: Sequence[str], start: int, period: int) -> int:
    end = start + period
    while end < len(names) and names[end] == names[end - period]:
        end += 1
    return (end - start) // period


def _pattern(group: Sequence[str], times: int) -> str:
    if len(group) == 1:
        return f"{times}*{group[0]}" if times > 1 else group[0]
    return f"{times}*({' '.join(compress(group))})"
