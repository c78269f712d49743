"""Layer patterns: `10*(5*local global)` says fifty locals and ten globals in that order."""

from __future__ import annotations

import re

LONGEST = 10_000
_DIGITS = 6
_TOKEN = re.compile(r"\s*(?:(\d+)\s*\*|([A-Za-z_][A-Za-z0-9_.-]*)|([()]))")


class PatternError(ValueError):
    """The text is no layer pattern."""


def layer_names(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """The block name of every layer, first to last.

    Raises PatternError for a text that does not parse or that means more than LONGEST layers.
    """
    return tuple(name for pattern in patterns for name in _parse(pattern))


def _parse(text: str) -> list[str]:
    """One pattern: a sequence of names and groups, each with an optional count before it."""
    stack: list[tuple[list[str], int]] = []
    done: list[str] = []
    times, at = 1, 0
    counted = False
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            raise PatternError(f"cannot read {text[at:].strip()!r}")
        at = match.end()
        count, name, bracket = match.groups()
        if count is not None:
            if counted or not 1 <= int(count[:_DIGITS]) <= LONGEST or len(count) > _DIGITS:
                raise PatternError(f"{count}* is no count of layers")
            times, counted = int(count), True
            continue
        if bracket == "(":
            stack.append((done, times))
            done = []
        elif bracket == ")":
            if not stack or counted or not done:
                raise PatternError("a bracket closes nothing")
            group, (done, times) = done, stack.pop()
            done = _grown(done, group, times)
        else:
            done = _grown(done, [name], times)
        times, counted = 1, False
    if stack or counted or not done:
        raise PatternError("it ends too early")
    return done


def _grown(done: list[str], group: list[str], times: int) -> list[str]:
    if len(done) + len(group) * times > LONGEST:
        raise PatternError(f"it means more than {LONGEST} layers")
    return done + group * times
