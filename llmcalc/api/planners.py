"""One planner a card, kept for the questions that follow: a sweep asks the same model again."""

from __future__ import annotations

from functools import lru_cache

from llmcalc.blueprint import lower
from llmcalc.planner.fit import Planner
from llmcalc.spec.card import ModelCard


class _Same:
    """A card as a key: itself, not its like, since a card holds what cannot be hashed."""

    __slots__ = ("card",)

    def __init__(self, card: ModelCard) -> None:
        self.card = card

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.card is other.card

    def __hash__(self) -> int:
        return id(self.card)


def planner(card: ModelCard) -> Planner:
    """The planner of that very card."""
    return _kept(_Same(card))


@lru_cache(maxsize=16)
def _kept(same: _Same) -> Planner:
    return Planner(lower(same.card), same.card.max_position_embeddings)
