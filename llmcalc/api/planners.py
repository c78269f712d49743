"""One planner a card, kept for the questions that follow: a sweep asks the same model again."""

from __future__ import annotations

from functools import lru_cache

from llmcalc.api.same_card import SameCard
from llmcalc.blueprint import lower
from llmcalc.planner.fit import Planner
from llmcalc.spec.card import ModelCard


def planner(card: ModelCard) -> Planner:
    """The planner of that very card."""
    return _kept(SameCard(card))


@lru_cache(maxsize=16)
def _kept(same: SameCard) -> Planner:
    return Planner(lower(same.card), same.card.max_position_embeddings)
