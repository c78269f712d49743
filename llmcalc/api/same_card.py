"""A card as the key of what is kept of it."""

from __future__ import annotations

from llmcalc.spec.card import ModelCard


class SameCard:
    """A card as a key: itself, not its like, since a card holds what cannot be hashed."""

    __slots__ = ("card",)

    def __init__(self, card: ModelCard) -> None:
        self.card = card

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameCard) and self.card is other.card

    def __hash__(self) -> int:
        return id(self.card)
