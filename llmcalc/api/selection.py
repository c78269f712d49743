"""A choice of models from the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from llmcalc.api.request import not_negative
from llmcalc.blueprint import lower
from llmcalc.catalog.find import cards
from llmcalc.catalog.suggest import nearest
from llmcalc.engines.params import count
from llmcalc.errors import LlmcalcError, UnknownNameError
from llmcalc.spec.card import ModelCard


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Words that name, family or an alias hold, a family, and bounds of size, both included."""

    words: Sequence[str] = ()
    family: str | None = None
    min_params: int | None = None
    max_params: int | None = None


def selected(wanted: Filter, on_problem: Callable[[LlmcalcError], None]) -> list[ModelCard]:
    """The models of the catalog that pass; `on_problem` hears of files that cannot be used.

    It hears it too where nothing passes. Raises ImpossibleError for a negative bound.
    """
    not_negative(min_params=wanted.min_params, max_params=wanted.max_params)
    every = cards(on_problem)
    found = [card for card in every if _named(card, wanted) and _sized(card, wanted)]
    if not found:
        on_problem(UnknownNameError(_unmatched(wanted, every)))
    return found


def _unmatched(wanted: Filter, every: Sequence[ModelCard]) -> str:
    """Why nothing passes, with the nearest word that something has."""
    family = wanted.family
    if family and not any(_named(one, Filter(family=family)) for one in every):
        return _unknown(family, "family", sorted({one.family for one in every}))
    for word in wanted.words:
        if not any(_named(one, Filter(words=[word])) for one in every):
            names = sorted({name for one in every for name in (one.name, *one.aliases)})
            return _unknown(word, "model", names)
    return "no model matches"


def _unknown(word: str, kind: str, known: Iterable[str]) -> str:
    best = nearest(word[:100], known)
    meant = f"; did you mean {best}?" if best else ""
    return f"no model matches: no {kind} is named {word[:100]}{meant}"


def _named(card: ModelCard, wanted: Filter) -> bool:
    names = " ".join((card.name, card.family, *card.aliases)).lower()
    return all(word.lower() in names for word in wanted.words) and (
        wanted.family is None or card.family.lower() == wanted.family.lower()
    )


def _sized(card: ModelCard, wanted: Filter) -> bool:
    if wanted.min_params is None and wanted.max_params is None:
        return True
    total = count(lower(card)).total
    return (
        (wanted.min_params or 0)
        <= total
        <= (wanted.max_params if wanted.max_params is not None else total)
    )
