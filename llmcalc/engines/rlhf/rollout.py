"""The engine that makes sequences: what it loads, and what is left for its cache."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.engines.rlhf.share import Share
from llmcalc.engines.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """The engine on one GPU; the fields about room are None where no GPU is named."""

    share: Share
    room: int | None = None
    """Bytes for the cache; negative where the rest already needs more."""
    tokens: int | None = None
    """Cached tokens that the room holds."""
    concurrency: float | None = None
    """Sequences that the room holds at once."""


def without_room(stage: Stage, batch: int, seq: int) -> Rollout:
    """The engine with a cache of just the sequences that it is to make."""
    cached = stage.held(batch, seq) - stage.cache.state(batch)
    return Rollout(share=_share(stage, batch, seq, cached, stage.cache.state(batch)))


def within(stage: Stage, room: int, batch: int, seq: int) -> Rollout:
    """The engine with all the room it takes for its cache."""
    return Rollout(
        share=_share(stage, batch, seq, max(0, room), 0),
        room=room,
        tokens=stage.tokens(max(0, room), seq),
        concurrency=stage.concurrency(max(0, room), seq),
    )


def loaded(stage: Stage, batch: int, seq: int) -> int:
    """Bytes that the engine takes beside its cache."""
    return stage.fixed + stage.scratch.bytes(batch, seq)


def _share(stage: Stage, batch: int, seq: int, cached: int, state: int) -> Share:
    return Share(
        weights=sum(stage.weights.values()),
        activations=stage.scratch.bytes(batch, seq),
        kv_cache=cached,
        state=state,
        runtime=sum(part.bytes for part in stage.taken),
    )
