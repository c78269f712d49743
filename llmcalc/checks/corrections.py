"""Which single field, were it otherwise, would make a number right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isqrt
from typing import Any

from llmcalc.catalog.rules import broken
from llmcalc.catalog.wording import Path
from llmcalc.checks.fields_of_cards import Field, changed, fields_of, in_file
from llmcalc.spec.card import ModelCard

MOST = 3
ODDEST = 4096
"""Sizes are small numbers times powers of two; a solution odder than this is chance."""
STEPS = (1, 128)
"""A width is only seen to be quadratic at values that heads divide."""
UNSAID = 1000
"""Added to the oddness of what the card does not mention at all."""

Count = Callable[[ModelCard], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """One change of a card that would make it agree."""

    path: Path
    """In the file."""
    text: str
    """The key and what would have to stand there."""
    oddness: int
    """How unlikely it is."""

    def __str__(self) -> str:
        return self.text


def corrections(
    card: ModelCard,
    count: Count,
    target: int,
    accepted: Callable[[ModelCard], bool] | None = None,
) -> tuple[Correction, ...]:
    """At most three changes with which `count` of the card is `target`, the likeliest first."""
    found: dict[Path, Correction] = {}
    for field in fields_of(card):
        for value in _solutions(card, field, count, target):
            mutant = _try(changed, card, field, value)
            if mutant is None or _try(count, mutant) != target or _is_broken(mutant):
                continue
            if accepted is None or _try(accepted, mutant):
                one = _correction(card, mutant, field, value)
                if one.path not in found or one.oddness < found[one.path].oddness:
                    found[one.path] = one
    return tuple(sorted(found.values(), key=lambda one: one.oddness)[:MOST])


def _correction(card: ModelCard, mutant: ModelCard, field: Field, value: Any) -> Correction:
    path, text = in_file(card, field.path), f"{field.name}: {value}"
    if field.name == "layers" and isinstance(path[-1], int):
        text = f"layers: [{', '.join(mutant.layers)}]"
    elif value is None:
        text = f"{field.name} left out"
    elif isinstance(value, bool):
        text = text.lower()
    return Correction(path=path, text=text, oddness=_oddness(field, value))


def _solutions(card: ModelCard, field: Field, count: Count, target: int) -> Iterator[Any]:
    """Values that may bring the count to the target: all of a few, or the roots of a quadratic."""
    yield from field.choices
    base = field.value or 0
    for step in STEPS if field.largest else ():
        points = [_try(count, _try(changed, card, field, base + step * n)) for n in (1, 2, 3)]
        if None in points:
            continue
        first, second, third = points
        for root in _roots(third - 2 * second + first, second - first, first - target):
            value = base + step * (1 + root)
            if 1 <= value <= field.largest and value != field.value and _odd(value) <= ODDEST:
                yield value


def _roots(bend: int, slope: int, offset: int) -> Iterator[int]:
    """Whole x with offset + slope·x + bend·x·(x − 1) / 2 = 0."""
    if bend == 0:
        if slope and offset % slope == 0:
            yield -offset // slope
        return
    a, b, c = bend, 2 * slope - bend, 2 * offset
    inside = b * b - 4 * a * c
    if inside < 0 or isqrt(inside) ** 2 != inside:
        return
    for root in {isqrt(inside), -isqrt(inside)}:
        if (root - b) % (2 * a) == 0:
            yield (root - b) // (2 * a)


def _oddness(field: Field, value: Any) -> int:
    """How unlikely a value is: a switch is soon forgotten, a size is a round number."""
    if value is None:
        return 1
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return _odd(value) + (0 if field.value else UNSAID)


def _odd(value: int) -> int:
    return value // (value & -value)


def _is_broken(card: ModelCard) -> bool:
    return _try(lambda one: next(broken(one), None) is not None, card) is not False


def _try(call: Callable[..., Any], *arguments: Any) -> Any:
    """The answer, or None: a changed card may be impossible in any way, and is only a guess."""
    try:
        return call(*arguments)
    except Exception:  # noqa: BLE001
        return None
