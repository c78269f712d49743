"""How far does a budget go? Tokens, sequences, the largest batch, the longest context."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.engines.memory import Stage, largest, largest_batch, largest_context


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a budget holds; for several stages, of the one with least room."""

    budget: int
    free: int
    """Left at the asked batch and sequence; negative where they need more."""
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


def within_memory(stage: Stage, shape: Shape, budget: int) -> Limits:
    """Limits where weights, scratch space and cache share the budget."""
    scratch = stage.live(shape.batch, shape.longest) + stage.logits(shape.batch)
    for_cache = max(0, budget - stage.fixed - scratch)
    return Limits(
        budget=budget,
        free=budget - stage.total(shape.batch, shape.seq),
        max_batch=largest_batch(stage, shape.seq, budget),
        max_context=largest_context(stage, shape.batch, budget, shape.limit),
        kv_tokens=_tokens(stage, shape, for_cache),
        max_concurrency=_concurrency(stage, shape, for_cache),
    )


def within_cache(stage: Stage, shape: Shape, budget: int) -> Limits:
    """Limits where the budget is for the cache alone."""
    one = stage.cache.held
    return Limits(
        budget=budget,
        free=budget - shape.batch * one(shape.seq),
        max_batch=budget // max(1, one(shape.seq)),
        max_context=largest(
            lambda seq: shape.batch * one(seq), budget, stage.cache.windows, shape.limit
        ),
        kv_tokens=_tokens(stage, shape, budget),
        max_concurrency=_concurrency(stage, shape, budget),
    )


def least(found: list[Limits], replicas: int) -> Limits:
    """The limits of a pipeline, whose tightest stage decides, times its replicas."""
    kept = [limits for limits in found if limits.max_concurrency is not None] or found
    tightest = min(kept, key=lambda limits: limits.max_concurrency or 0.0)
    tokens, concurrency = tightest.kv_tokens, tightest.max_concurrency
    return Limits(
        budget=tightest.budget,
        free=min(limits.free for limits in found),
        kv_tokens=None if tokens is None else replicas * tokens,
        max_concurrency=None if concurrency is None else replicas * concurrency,
        max_batch=replicas * min(limits.max_batch for limits in found),
        max_context=min(limits.max_context for limits in found),
    )


def _tokens(stage: Stage, shape: Shape, budget: int) -> int | None:
    """Cached tokens, over sequences of the longest length."""
    if not stage.cache.bytes_per_token:
        return None
    return budget * shape.longest // stage.cache.held(shape.longest)


def _concurrency(stage: Stage, shape: Shape, budget: int) -> float | None:
    """Sequences of the longest length."""
    held = stage.cache.held(shape.longest)
    return budget / held if held else None
