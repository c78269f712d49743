"""One model in training on so many GPUs: what it needs, what runs out, how far it could grow."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Literal

from llmcalc.api.plans import Asked, lowered, plan
from llmcalc.api.targets import placed
from llmcalc.blueprint.operations import Ledger
from llmcalc.engines import params
from llmcalc.engines.largest import largest
from llmcalc.engines.train.plan import Adapters, Plan
from llmcalc.engines.train.trained import count
from llmcalc.formula import quietly
from llmcalc.planner.fit import COMFORT, Verdict
from llmcalc.planner.training import Needs, needed_by
from llmcalc.planner.worked import explain
from llmcalc.spec.card import ModelCard

Limit = Literal["states", "activations", "logits", "buffers", "context"]


class Trained:
    """One model in training; how far it could grow is worked out when somebody asks."""

    def __init__(
        self, card: ModelCard, asked: Asked, offered: int, ledger: Ledger | None = None
    ) -> None:
        self.card, self.asked, self.capacity = card, asked, offered
        self.ledger = lowered(card, plan(asked).framework) if ledger is None else ledger
        self.context_limit = card.max_position_embeddings
        self._known: dict[Asked, Needs] = {}
        self._adapted: Adapters | None = None

    @property
    def needs(self) -> Needs:
        """What it needs as asked."""
        return self.needs_of(self.asked)

    @property
    def verdict(self) -> Verdict:
        """Whether it fits as asked."""
        return self.verdict_of(self.asked)

    def changed(self, asked: Asked) -> Trained:
        """The same model, trained otherwise in the same framework."""
        other = Trained(self.card, asked, self.capacity, self.ledger)
        other._adapted = self._adapted
        return other

    def explain(self) -> None:
        """Record the worked solution of what it needs as asked."""
        explain(self.ledger, self._plan(self.asked), self.needs)

    @cached_property
    def params(self) -> int:
        """Numbers of the model."""
        with quietly():
            return params.count(self.ledger).total

    @cached_property
    def trainable(self) -> int:
        """Numbers with gradients."""
        with quietly():
            return count(self.ledger, self._plan(self.asked))

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
        """Of each data rank; tight at most."""
        return largest(
            lambda n: self.needs_of(replace(self.asked, micro_batch=n)).least, self.capacity
        )

    @cached_property
    def max_context(self) -> int:
        """At the asked batch; tight at most."""
        return largest(
            lambda n: self.needs_of(replace(self.asked, seq=n)).least, self.capacity,
            self.context_limit,
        )  # fmt: skip

    def comfortable_batch(self, asked: Asked) -> int:
        """The most sequences of each data rank that fit."""
        return largest(
            lambda n: self.total(replace(asked, micro_batch=n)), int(COMFORT * self.capacity)
        )

    def needs_of(self, asked: Asked) -> Needs:
        """What it needs so; remembered, for many questions come back to the same training."""
        if asked not in self._known:
            with quietly():
                self._known[asked] = needed_by(self.ledger, self._plan(asked))
        return self._known[asked]

    def verdict_of(self, asked: Asked) -> Verdict:
        """Whether it fits so."""
        if self.too_long(asked):
            return "no"
        return self.needs_of(asked).verdict(self.capacity)

    def total(self, asked: Asked) -> int:
        """Bytes of the fullest GPU at the peak."""
        return self.needs_of(asked).peak

    def host(self, asked: Asked) -> int:
        """Bytes in the memory of the host, of all GPUs together."""
        return asked.gpus * self.needs_of(asked).line.lasting.away.host

    def too_long(self, asked: Asked) -> bool:
        """Whether the sequences are longer than it was made for."""
        return self.context_limit is not None and asked.seq > self.context_limit

    def _plan(self, asked: Asked) -> Plan:
        """The plan with adapters beside the products of this model, which are looked up once."""
        found = plan(asked)
        if found.adapters is None:
            return found
        if self._adapted is None:
            self._adapted = placed(found, self.card, self.ledger).adapters
        assert self._adapted is not None  # noqa: S101  a plan with adapters keeps them
        return replace(found, adapters=replace(found.adapters, pairs=self._adapted.pairs))
