"""Which models fit on these GPUs, how far, and what runs out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.shard import Parallel
from llmcalc.engines import memory
from llmcalc.formula import quietly
from llmcalc.planner.splits import splits
from llmcalc.spec.quantization import Quantization
from llmcalc.spec.runtime import Runtime

Verdict = Literal["fits", "tight", "no"]
Limit = Literal["weights", "kv_cache", "activations", "context", "nothing"]

COMFORT = 0.9
"""The share of the memory within which a model `fits`; above it is `tight`. vLLM's default
gpu_memory_utilization, which leaves room for what no model of memory sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is to run: so many sequences of so many tokens, stored so, on so many GPUs."""

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
    """The answer for one model; how far it could grow is worked out when somebody asks."""

    verdict: Verdict
    limit: Limit
    """What runs out first, now or when batch and context grow."""
    needed: int
    free: int
    capacity: int
    seq: int
    """Tokens that `needed` holds for: what was asked, or the model's limit where that is less."""
    parallel: Parallel
    stage: memory.Stage
    """The stage that needs most."""
    stages: tuple[memory.Stage, ...]
    batch: int
    """Sequences on one replica."""
    context: int | None
    """Tokens that the model was made for."""

    @property
    def max_batch(self) -> int:
        """The most sequences of `seq` tokens, all replicas together."""
        with quietly():
            return self.parallel.dp * min(
                memory.largest_batch(each, self.seq, self.capacity) for each in self.stages
            )

    @property
    def max_context(self) -> int:
        """The longest sequences at this batch, within the model's own limit."""
        with quietly():
            return min(
                memory.largest_context(each, self.batch, self.capacity, self.context)
                for each in self.stages
            )


class Planner:
    """Places one model; it remembers what each split holds, since a search asks again and again.

    A search records nothing; `explain` records its answer.
    """

    def __init__(self, ledger: Ledger, limit: int | None) -> None:
        self.ledger, self.limit = ledger, limit
        """Its operations, and the tokens of context that it was made for."""
        self._held: dict[tuple[str, str, str, int, int, int], tuple[memory.Stage, ...]] = {}

    def fit(self, ask: Ask) -> Fit:
        """The best place for the model: the split that needs least memory on each GPU.

        Raises ImpossibleError for a split that the model does not allow.
        """
        with quietly():
            return self._placed(ask, self.split(ask), self._seq(ask))

    def explain(self, ask: Ask, parallel: Parallel, batch: int, seq: int) -> None:
        """Record the worked solution of `batch` sequences on a replica of this split."""
        memory.explain(
            self.ledger,
            format=ask.weights,
            kv_dtype=ask.kv,
            runtime=ask.runtime,
            parallel=parallel,
            batch=batch,
            seq=seq,
        )

    def split(self, ask: Ask) -> Parallel:
        """The split that was asked for, else the one that needs least memory on each GPU."""
        if ask.parallel:
            return ask.parallel
        allowed = list(splits(self.ledger, ask.gpus))
        if len(allowed) == 1:
            return allowed[0]
        needs = [(self._needed(ask, each), each) for each in allowed]
        return min(needs, key=lambda need: (need[0], need[1].gpus, need[1].pp))[1]

    def _seq(self, ask: Ask) -> int:
        return min(ask.seq, self.limit or ask.seq)

    def _needed(self, ask: Ask, parallel: Parallel) -> int:
        batch = -(-ask.batch // parallel.dp)
        return max(stage.total(batch, self._seq(ask)) for stage in self.stages(ask, parallel))

    def _placed(self, ask: Ask, parallel: Parallel, seq: int) -> Fit:
        stages = self.stages(ask, parallel)
        batch = -(-ask.batch // parallel.dp)
        stage = memory.fullest(stages, batch, seq)
        needed = stage.total(batch, seq)
        return Fit(
            verdict=judged(needed, ask.capacity) if seq == ask.seq else "no",
            limit=_limit(stage, ask, batch, seq),
            needed=needed,
            free=ask.capacity - needed,
            capacity=ask.capacity,
            seq=seq,
            parallel=parallel,
            stage=stage,
            stages=stages,
            batch=batch,
            context=self.limit,
        )

    def stages(self, ask: Ask, parallel: Parallel) -> tuple[memory.Stage, ...]:
        """What one GPU of each pipeline stage holds under this split."""
        key = (ask.weights.name, ask.kv, ask.runtime.name, parallel.tp, parallel.pp, parallel.ep)
        if key not in self._held:
            self._held[key] = memory.stages(
                self.ledger,
                format=ask.weights,
                kv_dtype=ask.kv,
                runtime=ask.runtime,
                parallel=parallel,
            )
        return self._held[key]


def judged(needed: int, capacity: int) -> Verdict:
    """`fits` with room to spare, `tight` within the memory, `no` beyond it."""
    if needed > capacity:
        return "no"
    return "fits" if needed <= COMFORT * capacity else "tight"


def _limit(stage: memory.Stage, ask: Ask, batch: int, seq: int) -> Limit:
    """What ends it: the model's context, else what does not fit, else what fills memory most."""
    if seq < ask.seq:
        return "context"
    if stage.fixed > ask.capacity:
        return "weights"
    if stage.total(batch, seq) <= COMFORT * ask.capacity:
        return "nothing"
    scratch = stage.live(batch, seq) + stage.logits(batch)
    return "kv_cache" if batch * stage.cache.sequence(seq) > scratch else "activations"
