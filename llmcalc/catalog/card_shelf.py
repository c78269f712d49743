"""Where model cards stand."""

from __future__ import annotations

from llmcalc.catalog.shelf import Shelf
from llmcalc.spec.card import ModelCard

CARDS: Shelf[ModelCard] = Shelf(
    kind=ModelCard, word="model", folder="model_cards", variable="LLMCALC_CARDS"
)
