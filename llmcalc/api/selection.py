"""A choice of models from the catalog."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llmcalc.api.request import not_negative
from llmcalc.blueprint import lower
from llmcalc.catalog.find import cards
from llmcalc.engines.params import count
from llmcalc.errors import InvalidFileError
from llmcalc.spec.card import ModelCard


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Words that name, family or an alias hold, a family, and bounds of size, both included."""

    words: Sequence[str] = ()
    family: str | None = None
    min_params: int | None = None
    max_params: int | None = None


def selected(wanted: Filter, on_problem: Callable[[InvalidFileError], None]) -> list[ModelCard]:
    """The models of the catalog that pass; `on_problem` hears of files that cannot be used.

    Raises ImpossibleError for a negative bound.
    """
    not_negative(min_params=wanted.min_params, max_params=wanted.max_params)
    return [card for card in cards(on_problem) if _named(card, wanted) and _sized(card, wanted)]


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
