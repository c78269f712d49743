"""What sequences hold in an engine's cache: the question every layout of a cache answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from llmcalc.engines import kv
from llmcalc.formula import formula


class Holding(Protocol):
    """The cache of one rank, however the engine lays it out."""

    @property
    def bytes_per_token(self) -> int:
        """Bytes that a token adds while it is inside every window."""

    @property
    def state_bytes(self) -> int:
        """Bytes of one sequence that do not grow."""

    def cache(self, batch: int, seq: int) -> int:
        """Bytes of keys, values and latents of `batch` sequences of `seq` tokens."""

    def state(self, batch: int) -> int:
        """Bytes of the states of `batch` sequences."""

    def tokens(self, room: int, longest: int) -> int | None:
        """Cached tokens that `room` bytes hold, over sequences of `longest`; None without cache."""

    def concurrency(self, room: int, longest: int) -> float | None:
        """Sequences of `longest` tokens that `room` bytes hold; None: they leave nothing behind."""

    def explain(self, batch: int, seq: int) -> None:
        """Record how the bytes follow."""

    def explain_room(self, room: int, longest: int) -> None:
        """Record how many sequences a room holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """A cache that holds what each sequence has, token by token."""

    profile: kv.KvProfile
    doubled_layers: int = 0
    """Layers whose old and new cache are alive at once, while a token is appended."""
    layers: int = 1

    @property
    def bytes_per_token(self) -> int:
        """Bytes that a token adds while it is inside every window."""
        return self.profile.bytes_per_token

    @property
    def state_bytes(self) -> int:
        """Bytes of one sequence that do not grow."""
        return self.profile.state_bytes

    def cache(self, batch: int, seq: int) -> int:
        """Bytes of all sequences, and of the copies while one grows."""
        held = batch * self.profile.sequence(seq)
        return held + -(-held * self.doubled_layers // self.layers)

    def state(self, batch: int) -> int:
        """Bytes of the states of `batch` sequences."""
        return batch * self.profile.state_bytes

    def tokens(self, room: int, longest: int) -> int | None:
        """Cached tokens, over sequences of the longest length."""
        if not self.profile.bytes_per_token:
            return None
        return max(0, room) * longest // (self.cache(1, longest) + self.state(1))

    def concurrency(self, room: int, longest: int) -> float | None:
        """Sequences of the longest length."""
        held = self.cache(1, longest) + self.state(1)
        return max(0, room) / held if held else None

    def explain(self, batch: int, seq: int) -> None:
        """Record window by window what a token adds."""
        kv.explain(self.profile, batch, seq)

    def explain_room(self, room: int, longest: int) -> None:
        """Record the room over what one sequence holds."""
        if one := self.cache(1, longest) + self.state(1):
            whole_sequences(room=max(0, room), one=one)


@formula(
    "int(room / one)",
    source="the room over what one sequence of the longest length takes: bytes, blocks, tokens",
    unit="sequences",
)
def whole_sequences(*, room: int, one: int) -> int:
    """Sequences of the longest length that a room holds."""
    return room // one
