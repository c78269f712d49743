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
    kv_tokens: int
    """Cached tokens, over sequences of the longest length."""
    max_concurrency: float
    """Sequences of the longest length at once."""
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
        kv_tokens=for_cache * shape.longest // _one(stage, shape),
        max_concurrency=for_cache / _one(stage, shape),
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
        kv_tokens=budget * shape.longest // _one(stage, shape),
        max_concurrency=budget / _one(stage, shape),
    )


def least(found: list[Limits], replicas: int) -> Limits:
    """The limits of a pipeline, whose tightest stage decides, times its replicas."""
    tightest = min(found, key=lambda limits: limits.max_concurrency)
    return Limits(
        budget=tightest.budget,
        free=min(limits.free for limits in found),
        kv_tokens=replicas * tightest.kv_tokens,
        max_concurrency=replicas * tightest.max_concurrency,
        max_batch=replicas * min(limits.max_batch for limits in found),
        max_context=min(limits.max_context for limits in found),
    )


def _one(stage: Stage, shape: Shape) -> int:
    """Bytes of one sequence of the longest length; a stage without a cache is never the limit."""
    return max(1, stage.cache.held(shape.longest))
