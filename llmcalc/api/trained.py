"""One model in training on so many GPUs: what it needs, what runs out, how far it could grow."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Literal

from llmcalc.api.plans import Asked, lowered, plan
from llmcalc.blueprint.operations import Ledger
from llmcalc.engines import params
from llmcalc.engines.largest import largest
from llmcalc.engines.train.trained import count
from llmcalc.formula import quietly
from llmcalc.planner.fit import COMFORT, Verdict
from llmcalc.planner.training import needed_by
from llmcalc.spec.card import ModelCard

Limit = Literal["states", "activations", "logits", "buffers", "context"]


class Trained:
    """One model in training; how far it could grow is worked out when somebody asks."""

    def __init__(self, card: ModelCard, asked: Asked, offered: int) -> None:
        self.card, self.asked, self.capacity = card, asked, offered
        self.ledger: Ledger = lowered(card, plan(asked).framework)
        self.context_limit = card.max_position_embeddings
        with quietly():
            self.params = params.count(self.ledger).total
        self.needs = needed_by(self.ledger, plan(asked))
        self.verdict = self.verdict_of(asked)

    @cached_property
    def trainable(self) -> int:
        """Numbers with gradients."""
        with quietly():
            return count(self.ledger, plan(self.asked))

    @property
    def limit(self) -> Limit:
        """What takes most of what runs out; states, where they alone leave no room."""
        if self.too_long(self.asked):
            return "context"
        if self.needs.static > COMFORT * self.capacity:
            return "states"
        grown: tuple[Limit, ...] = ("activations", "logits", "buffers")
        return max(grown, key=lambda part: self.needs.parts[part])

    @cached_property
    def max_batch(self) -> int:
        """Of each data rank."""
        return largest(lambda n: self.total(replace(self.asked, micro_batch=n)), self.capacity)

    @cached_property
    def max_context(self) -> int:
        """At the asked batch."""
        return largest(
            lambda n: self.total(replace(self.asked, seq=n)), self.capacity, self.context_limit
        )

    def verdict_of(self, asked: Asked) -> Verdict:
        """Whether it fits so."""
        if self.too_long(asked):
            return "no"
        return needed_by(self.ledger, plan(asked)).verdict(self.capacity)

    def total(self, asked: Asked) -> int:
        """Bytes of the fullest GPU at the peak."""
        return needed_by(self.ledger, plan(asked)).peak

    def too_long(self, asked: Asked) -> bool:
        """Whether the sequences are longer than it was made for."""
        return self.context_limit is not None and asked.seq > self.context_limit
