"""What one GPU of one pipeline stage holds, for any batch and context."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from llmcalc.engines.holding import Holding
from llmcalc.engines.part import Part
from llmcalc.engines.scratch import Scratch


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A model that proposes tokens: its weights, and the cache it keeps of the same sequences."""

    name: str
    weights: int
    cache: Holding

    def parts(self, cached: int) -> tuple[Part, ...]:
        """Weights and cache."""
        return (
            Part(name=self.name, group="weights", bytes=self.weights, basis="exact"),
            Part(name=f"cache of {self.name}", group="kv_cache", bytes=cached, basis="exact"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What one GPU of one pipeline stage holds, for any batch and context."""

    weights: dict[str, int]
    cache: Holding
    scratch: Scratch
    taken: tuple[Part, ...]
    """What the engine takes for itself."""
    drafts: tuple[Draft, ...] = ()
    """Models that propose tokens, with caches of their own."""
    shared: int = 0
    """Tokens at the start of every sequence that are cached once."""
    ranks: int = 1
    """Ranks that share the cached tokens of a sequence."""
    fixed: int
    """Bytes that no batch or context changes: weights and what is taken."""
    outside: int = 0
    """Bytes of those that the engine takes on top of its budget."""

    def held(self, batch: int, seq: int) -> int:
        """Bytes that `batch` sequences of `seq` tokens leave behind."""
        own = self._cached(self.cache, batch, seq) + self.cache.state(batch)
        for draft in self.drafts:
            own += self._cached(draft.cache, batch, seq) + draft.cache.state(batch)
        return own

    def _cached(self, cache: Holding, batch: int, seq: int) -> int:
        """Bytes of a cache, what all sequences start with once."""
        own = self._own(seq)
        whole = cache.cache(batch, own)
        shared = min(self._own(self.shared), own)
        if not shared or batch == 1:
            return whole
        # Behind a window only the tokens that are still seen could be shared.
        tail = cache.cache(1, own) - cache.cache(1, own - shared)
        return whole - (batch - 1) * max(0, tail)

    def _own(self, seq: int) -> int:
        """Tokens of a sequence that this rank caches."""
        return -(-seq // self.ranks)

    def tokens(self, room: int, longest: int) -> int | None:
        """Tokens that `room` bytes of each rank hold, over sequences of `longest` tokens."""
        own = self.cache.tokens(self._share(room, longest), self._own(longest))
        return own if own is None else own * self.ranks

    def concurrency(self, room: int, longest: int) -> float | None:
        """Sequences of `longest` tokens that `room` bytes of each rank hold."""
        return self.cache.concurrency(self._share(room, longest), self._own(longest))

    def explain_room(self, room: int, longest: int) -> None:
        """Record how many sequences of `longest` tokens the room holds."""
        self.cache.explain_room(self._share(room, longest), self._own(longest))

    def _share(self, room: int, longest: int) -> int:
        """What of the room the model's own cache gets beside those of its drafts."""
        if not self.drafts:
            return room
        own = self.cache.cache(1, self._own(longest)) + self.cache.state(1)
        return room * own // max(1, self.held(1, longest))

    def total(self, batch: int, seq: int) -> int:
        """Bytes of `batch` sequences of `seq` tokens each."""
        return self.fixed + self.held(batch, seq) + self.scratch.bytes(batch, seq)

    def parts(self, batch: int, seq: int) -> tuple[Part, ...]:
        """The same bytes, itemised."""
        held = [
            Part(name=name, group="weights", bytes=size, basis="exact")
            for name, size in self.weights.items()
        ]
        cached, states = self._cached(self.cache, batch, seq), self.cache.state(batch)
        self.cache.explain(batch, self._own(seq))
        proposed = [
            part
            for draft in self.drafts
            for part in draft.parts(self._cached(draft.cache, batch, seq))
        ]
        return (
            *held,
            Part(name="KV cache", group="kv_cache", bytes=cached, basis="exact"),
            Part(name="state", group="state", bytes=states, basis="exact"),
            *proposed,
            *self.scratch.parts(batch, seq),
            *self.taken,
        )


def fullest(candidates: Iterable[Stage], batch: int, seq: int) -> Stage:
    """The stage that needs most memory."""
    return max(candidates, key=lambda stage: stage.total(batch, seq))
