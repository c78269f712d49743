"""Which models fit on these GPUs, how far, and what runs out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.shard import Parallel
from llmcalc.engines import memory
from llmcalc.planner.splits import splits
from llmcalc.spec.quantization import Quantization
from llmcalc.spec.runtime import Runtime

Verdict = Literal["fits", "tight", "no"]
Limit = Literal["weights", "kv_cache", "activations", "context", "nothing"]

COMFORT = 0.9
"""The share of the memory within which a model `fits`; above it is `tight`. vLLM's default utilisation
(gpu_memory_utilization 0.9), which leaves room for what no model of memory sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is to run: so many sequences of so many tokens, stored so, on so many bytes of so many GPUs."""

    batch: int
    seq: int
    capacity: int
    gpus: int
    weights: Quantization
    kv: str
    runtime: Runtime
    parallel: Parallel | None = None
    """The split, where the user says it; else the one that needs least memory a GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The answer for one model."""

    verdict: Verdict
    limit: Limit
    """What runs out first, now or when batch and context grow."""
    needed: int
    free: int
    max_batch: int
    max_context: int
    seq: int
    """Tokens that `needed` holds for: what was asked, or the model's limit where that is less."""
    parallel: Parallel
    stage: memory.Stage
    batch: int
    """Sequences on one replica."""


def fit(ledger: Ledger, limit: int | None, ask: Ask) -> Fit:
    """Place one model of `limit` tokens of context.

    Raises ImpossibleError for a split that the model does not allow.
    """
    candidates = [ask.parallel] if ask.parallel else list(splits(ledger, ask.gpus))
    placed = [_place(ledger, limit, ask, parallel) for parallel in candidates]
    return min(placed, key=lambda found: (found.needed, found.parallel.gpus, found.parallel.pp))


def _place(ledger: Ledger, limit: int | None, ask: Ask, parallel: Parallel) -> Fit:
    seq = min(ask.seq, limit or ask.seq)
    batch = -(-ask.batch // parallel.dp)
    stages = memory.stages(
        ledger, format=ask.weights, kv_dtype=ask.kv, runtime=ask.runtime, parallel=parallel
    )
    stage = memory.fullest(stages, batch, seq)
    needed = stage.total(batch, seq)
    verdict = judged(needed, ask.capacity) if seq == ask.seq else "no"
    return Fit(
        verdict=verdict,
        limit=_limit(stage, ask, needed, over_context=seq < ask.seq),
        needed=needed,
        free=ask.capacity - needed,
        max_batch=parallel.dp * min(memory.largest_batch(each, seq, ask.capacity) for each in stages),
        max_context=min(memory.largest_context(each, batch, ask.capacity, limit) for each in stages),
        seq=seq,
        parallel=parallel,
        stage=stage,
        batch=batch,
    )


def judged(needed: int, capacity: int) -> Verdict:
    """`fits` with room to spare, `tight` within the memory, `no` beyond it."""
    if needed > capacity:
        return "no"
    return "fits" if needed <= COMFORT * capacity else "tight"


def _limit(stage: memory.Stage, ask: Ask, needed: int, *, over_context: bool) -> Limit:
    if over_context:
        return "context"
    if stage.fixed > ask.capacity:
        return "weights"
    if needed <= COMFORT * ask.capacity:
        return "nothing"
    scratch = stage.live(ask.batch, ask.seq) + stage.logits(ask.batch)
    return "kv_cache" if needed - stage.fixed - scratch > scratch else "activations"
