"""Data that ships beside the code: runtimes, number formats and training recipes."""

from __future__ import annotations

from typing import Any, NoReturn

from llmcalc.catalog.shelf import Shelf
from llmcalc.catalog.suggest import nearest
from llmcalc.errors import UsageError
from llmcalc.spec.quantization import Quantization
from llmcalc.spec.recipe import Recipe
from llmcalc.spec.runtime import Runtime

RUNTIMES: Shelf[Runtime] = Shelf(kind=Runtime, word="runtime", folder="runtimes")
QUANTIZATIONS: Shelf[Quantization] = Shelf(
    kind=Quantization, word="weight format", folder="quantization"
)
RECIPES: Shelf[Recipe] = Shelf(kind=Recipe, word="precision recipe", folder="recipes")


def runtime(name: str) -> Runtime:
    """The runtime of that name or alias. Raises UsageError where there is none."""
    return RUNTIMES.find(name) or _unknown(RUNTIMES, name)


def quantization(name: str) -> Quantization:
    """The weight format of that name or alias. Raises UsageError where there is none."""
    return QUANTIZATIONS.find(name) or _unknown(QUANTIZATIONS, name)


def quantizations() -> tuple[Quantization, ...]:
    """Every weight format, the widest first."""
    return tuple(sorted(QUANTIZATIONS.all(), key=lambda one: -one.bits))


def recipe(name: str) -> Recipe:
    """The training recipe of that name or alias. Raises UsageError where there is none."""
    return RECIPES.find(name) or _unknown(RECIPES, name)


def _unknown(shelf: Shelf[Any], name: str) -> NoReturn:
    known = shelf.names()
    best = nearest(name.lower()[:100], known)
    hint = f"did you mean {best}?" if best else f"have: {', '.join(known)}"
    raise UsageError(f"no {shelf.word} named {name[:100]!r}", hint=hint)
