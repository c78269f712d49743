"""How far does a budget go? Tokens, sequences, the largest batch, the longest context."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.engines.budget import cache_room, missing, usable
from llmcalc.engines.largest import largest
from llmcalc.engines.serving import Serving
from llmcalc.engines.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a budget holds; for several stages, of the one with least room."""

    budget: int
    free: int
    """Left at the asked batch and sequence; negative where they need more."""
    kv_room: int
    """Bytes for the cache of one GPU; negative where the rest already needs more."""
    kv_tokens: int | None
    """Cached tokens, over sequences of the longest length; None where no token is cached."""
    max_concurrency: float | None
    """Sequences of the longest length at once; None where a sequence leaves nothing behind."""
    max_batch: int
    max_context: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sequences on one replica, and the lengths that matter."""

    batch: int
    seq: int
    longest: int
    """The length that concurrency is counted in."""
    limit: int | None
    """The model's own limit."""


def within_memory(stage: Stage, shape: Shape, serving: Serving, capacity: int) -> Limits:
    """Limits where weights, scratch space and cache share the memory of a device."""
    room = cache_room(stage, serving, capacity, shape.batch, shape.longest)
    return Limits(
        budget=usable(serving, capacity),
        free=-missing(stage, serving, capacity, shape.batch, shape.seq),
        kv_room=room,
        max_batch=largest_batch(stage, serving, capacity, shape.seq),
        max_context=largest_context(stage, serving, capacity, shape.batch, shape.limit),
        kv_tokens=stage.tokens(room, shape.longest),
        max_concurrency=stage.concurrency(room, shape.longest),
    )


def within_cache(stage: Stage, shape: Shape, budget: int) -> Limits:
    """Limits where the budget is for the cache alone."""
    return Limits(
        budget=budget,
        free=budget - stage.held(shape.batch, shape.seq),
        kv_room=budget,
        max_batch=largest(lambda batch: stage.held(batch, shape.seq), budget),
        max_context=largest(lambda seq: stage.held(shape.batch, seq), budget, shape.limit),
        kv_tokens=stage.tokens(budget, shape.longest),
        max_concurrency=stage.concurrency(budget, shape.longest),
    )


def largest_batch(stage: Stage, serving: Serving, capacity: int, seq: int) -> int:
    """The most sequences of `seq` tokens; 0 if not even one."""
    return largest(lambda batch: missing(stage, serving, capacity, batch, seq), 0)


def largest_context(
    stage: Stage, serving: Serving, capacity: int, batch: int, limit: int | None
) -> int:
    """The longest `batch` sequences within the model's limit; 0 if none."""
    return largest(lambda seq: missing(stage, serving, capacity, batch, seq), 0, limit)


def least(found: list[Limits], replicas: int) -> Limits:
    """The limits of a pipeline, whose tightest stage decides, times its replicas."""
    kept = [limits for limits in found if limits.max_concurrency is not None] or found
    tightest = min(kept, key=lambda limits: limits.max_concurrency or 0.0)
    tokens, concurrency = tightest.kv_tokens, tightest.max_concurrency
    return Limits(
        budget=tightest.budget,
        free=min(limits.free for limits in found),
        kv_room=tightest.kv_room,
        kv_tokens=None if tokens is None else replicas * tokens,
        max_concurrency=None if concurrency is None else replicas * concurrency,
        max_batch=replicas * min(limits.max_batch for limits in found),
        max_context=min(limits.max_context for limits in found),
    )
