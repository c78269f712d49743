"""A card of the catalog from what an engine prints about a model: its shapes and its size."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from llmcalc.blueprint import lower
from llmcalc.checks.measured.catalog import cards
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.engines.params import count
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, LatentAttention

ENOUGH = 3
"""Facts that must agree before a card is taken for a model that nobody named."""
_SIZE = re.compile(r"([\d.]+)\s*B$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a row says about the model; None: it says nothing."""

    params: str | None = None
    """As printed, `6.74 B`."""
    layers: int | None = None
    hidden: int | None = None
    vocab: int | None = None
    kv_heads: int | None = None

    @property
    def said(self) -> int:
        """How many there are."""
        values = (self.params, self.layers, self.hidden, self.vocab, self.kv_heads)
        return sum(value is not None for value in values)

    def contradicted(self, card: ModelCard) -> str:
        """In words, which shape the card has otherwise; empty if all agree."""
        shapes = _shapes(card.name)
        for word, said, has in (
            ("layers", self.layers, shapes.layers),
            ("hidden size", self.hidden, shapes.hidden),
            ("vocabulary", self.vocab, shapes.vocab),
            ("KV heads", self.kv_heads, shapes.kv_heads),
        ):
            if said is not None and has is not None and said != has:
                return f"{word} {said:,}, the card {card.name} has {has:,}"
        return ""

    def resized(self, card: ModelCard) -> str:
        """In words, that the file holds another number of parameters than the card; else empty."""
        has = _shapes(card.name).params
        if self.params is None or _agrees(self.params, has):
            return ""
        return f"the file holds {self.params} parameters, the card {card.name} {has / 1e9:.3f} B"

    def rounded(self, card: ModelCard) -> bool:
        """Whether the card's parameters, rounded as they were printed, are what was printed."""
        match = _SIZE.match((self.params or "").strip())
        if match is None:
            return False
        decimals = len(match[1].partition(".")[2])
        return f"{_shapes(card.name).params / 1e9:.{decimals}f}" == match[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shapes:
    params: int
    layers: int
    hidden: int
    vocab: int
    kv_heads: int | None
    """None where layers differ."""


def matching(facts: Facts, hint: str) -> ModelCard:
    """The one card that agrees with every fact; of equals, the one whose family the text names.

    Raises Unusable where facts are too few, or cards of different shapes agree.
    """
    if facts.said < ENOUGH:
        raise Unusable(f"model {hint!r} is not in the catalog")
    fits = (card for card in cards().values() if not facts.contradicted(card))
    found = [card for card in fits if not facts.resized(card)]
    if not found:
        raise Unusable(f"no card has the shapes of {hint!r}")
    return chosen(found, hint)


def chosen(found: Iterable[ModelCard], hint: str) -> ModelCard:
    """One of several cards, if they have the same shapes. Raises Unusable if they do not."""
    first, *others = found
    if any(_bare(card) != _bare(first) for card in others):
        names = ", ".join(card.name for card in (first, *others))
        raise Unusable(f"{hint!r} can be {names}")
    squeezed = hint.lower().replace(" v", "").replace(" ", "").replace("-", "")
    near = (card for card in (first, *others) if squeezed.startswith(card.name.split("-")[0]))
    return max(near, key=lambda card: len(card.name.split("-")[0]), default=first)


def _agrees(printed: str, params: int) -> bool:
    """Whether a count rounds to what was printed; the last digit may be off by one."""
    match = _SIZE.match(printed.strip())
    if match is None:
        return True
    decimals = len(match[1].partition(".")[2])
    return abs(float(match[1]) - params / 1e9) <= 1.5 / 10.0**decimals


@cache
def _shapes(name: str) -> _Shapes:
    return _shapes_of(cards()[name])


def _shapes_of(card: ModelCard) -> _Shapes:
    ledger = lower(card)
    heads = {
        part.num_kv_heads or part.num_heads if isinstance(part, Attention) else part.num_heads
        for block in card.blocks.values()
        for part in block.parts
        if isinstance(part, Attention | LatentAttention)
    }
    return _Shapes(
        params=count(ledger).total,
        layers=len(ledger.order),
        hidden=card.hidden_size,
        vocab=card.vocab_size,
        kv_heads=heads.pop() if len(heads) == 1 else None,
    )


def _bare(card: ModelCard) -> ModelCard:
    """The card without what does not change a number."""
    return replace(
        card,
        name="",
        family="",
        aliases=(),
        released=None,
        source="",
        confidence="high",
        notes=None,
        published=None,
        stored=(),
        max_position_embeddings=None,
    )
