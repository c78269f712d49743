"""Does it fit? The memory of one GPU by part, as a function of batch and context.

Weights and what the engine takes for itself are fixed; the cache and the scratch space grow, as the
engine lays them out. Growth never falls, so the largest batch and context are found by halving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.shard import Parallel, shard
from llmcalc.engines import weights
from llmcalc.engines.holding import Holding
from llmcalc.engines.kv_format import KvFormats
from llmcalc.engines.layouts import holding, scratch_space
from llmcalc.engines.part import Basis, Group, Part
from llmcalc.engines.placement import placed
from llmcalc.engines.scratch import Scratch
from llmcalc.engines.serving import Serving
from llmcalc.formula import is_recording, quietly, record_sum, symbol
from llmcalc.spec.quantization import Quantization

__all__ = ["Basis", "Group", "Part", "Stage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What one GPU of one pipeline stage holds, for any batch and context."""

    weights: dict[str, int]
    cache: Holding
    scratch: Scratch
    taken: tuple[Part, ...]
    """What the engine takes for itself."""
    ranks: int = 1
    """Ranks that share the cached tokens of a sequence."""
    fixed: int
    """Bytes that no batch or context changes: weights and what is taken."""
    outside: int = 0
    """Bytes of those that the engine takes on top of its budget."""

    def held(self, batch: int, seq: int) -> int:
        """Bytes that `batch` sequences of `seq` tokens leave behind."""
        return self.cache.cache(batch, self._own(seq)) + self.cache.state(batch)

    def _own(self, seq: int) -> int:
        """Tokens of a sequence that this rank caches."""
        return -(-seq // self.ranks)

    def tokens(self, room: int, longest: int) -> int | None:
        """Tokens that `room` bytes of each rank hold, over sequences of `longest` tokens."""
        own = self.cache.tokens(room, self._own(longest))
        return own if own is None else own * self.ranks

    def concurrency(self, room: int, longest: int) -> float | None:
        """Sequences of `longest` tokens that `room` bytes of each rank hold."""
        return self.cache.concurrency(room, self._own(longest))

    def total(self, batch: int, seq: int) -> int:
        """Bytes of `batch` sequences of `seq` tokens each."""
        return self.fixed + self.held(batch, seq) + self.scratch.bytes(batch, seq)

    def parts(self, batch: int, seq: int) -> tuple[Part, ...]:
        """The same bytes, itemised."""
        held = [
            Part(name=name, group="weights", bytes=size, basis="exact")
            for name, size in self.weights.items()
        ]
        cached, states = self.cache.cache(batch, self._own(seq)), self.cache.state(batch)
        self.cache.explain(batch, self._own(seq))
        return (
            *held,
            Part(name="KV cache", group="kv_cache", bytes=cached, basis="exact"),
            Part(name="state", group="state", bytes=states, basis="exact"),
            *self.scratch.parts(batch, seq),
            *self.taken,
        )


def overheads(serving: Serving, *, alone: bool) -> tuple[Part, ...]:
    """What an engine takes for itself on one GPU that works alone or with others."""
    happens = {"always": True, "several": not alone, "graphs": serving.graphs}
    return tuple(
        Part(name=one.name, group="runtime", bytes=one.bytes, basis="modelled", source=one.source)
        for one in serving.runtime.overheads
        if happens[one.when]
    )


def stages(
    ledger: Ledger, *, format: Quantization, kv: KvFormats, serving: Serving, parallel: Parallel
) -> tuple[Stage, ...]:
    """One Stage a pipeline stage; the one that needs most decides.

    Raises ImpossibleError for a split that the model does not allow.
    """
    start = _Start(ledger=ledger, format=format, kv=kv, serving=serving, parallel=parallel)
    return tuple(start.stage(rank) for rank in start.ranks())


def explain(
    ledger: Ledger,
    *,
    format: Quantization,
    kv: KvFormats,
    serving: Serving,
    parallel: Parallel,
    batch: int,
    seq: int,
) -> None:
    """Record the worked solution of the fullest stage: each part, and their sum."""
    if not is_recording():
        return
    start = _Start(ledger=ledger, format=format, kv=kv, serving=serving, parallel=parallel)
    ranks = start.ranks()
    with quietly():
        needs = [start.stage(rank).total(batch, seq) for rank in ranks]
    parts = start.stage(ranks[needs.index(max(needs))]).parts(batch, seq)
    named = {symbol(part.name): part.bytes for part in parts}
    record_sum("total_per_gpu", named, "bytes", "modelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """A model, how it is stored, and the engine that is started with it on so many ranks."""

    ledger: Ledger
    format: Quantization
    kv: KvFormats
    serving: Serving
    parallel: Parallel

    def ranks(self) -> tuple[Ledger, ...]:
        """What the fullest rank of each stage computes, as this engine divides a model."""
        runtime = self.serving.runtime
        device, _ = placed(self.ledger, self.serving)
        own = replace(
            self.parallel, vocab_multiple=runtime.vocab_multiple, spare=runtime.spare,
            uneven_experts=runtime.uneven_experts,
        )  # fmt: skip
        return shard(device, own)

    def stage(self, rank: Ledger) -> Stage:
        """What that rank holds."""
        held = weights.by_group(rank, self.format)
        parallel, serving = self.parallel, self.serving
        taken = overheads(serving, alone=parallel.alone)
        on_top = {one.name for one in serving.runtime.overheads if one.outside_budget}
        return Stage(
            weights=held,
            cache=holding(rank, self.kv, serving, parallel.pp),
            scratch=scratch_space(rank, self.ledger, self.kv, serving),
            taken=taken,
            ranks=parallel.cp * parallel.dcp,
            fixed=sum(held.values()) + sum(part.bytes for part in taken),
            outside=sum(part.bytes for part in taken if part.name in on_top),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What an engine keeps in the memory of the host."""

    weights: int
    cache: Holding | None = None
    """Of the layers that stand there."""

    def bytes(self, batch: int, seq: int) -> int:
        """Weights, and what `batch` sequences of `seq` tokens leave behind in those layers."""
        if self.cache is None:
            return self.weights
        return self.weights + self.cache.cache(batch, seq) + self.cache.state(batch)


def host(ledger: Ledger, *, format: Quantization, kv: KvFormats, serving: Serving) -> Host:
    """What stays on the host: layers and tables that no device holds, or weights moved there."""
    _, rest = placed(ledger, serving)
    cache = holding(rest, kv, serving, 1) if rest.order else None
    return Host(weights=sum(weights.by_group(rest, format).values()), cache=cache)


def fullest(candidates: Iterable[Stage], batch: int, seq: int) -> Stage:
    """The stage that needs most memory."""
    return max(candidates, key=lambda stage: stage.total(batch, seq))


UNBOUNDED = 2**40
"""Where growth is so slow that no budget ends it, as of a model whose every layer has a window."""


def bounded(tokens: int) -> int | None:
    """A longest context to show: None where nothing ends it."""
    return tokens if tokens < UNBOUNDED else None


def largest(need: Callable[[int], int], budget: int, limit: int | None = None) -> int:
    """The largest n up to the limit with need(n) ≤ budget, for a need that never falls; else 0.

    Growth is mostly straight: a guess on the straight line, and its next, mostly end the search;
    a halving between guesses bounds it where growth has kinks or steps.
    """
    low, high = 1, limit or UNBOUNDED
    at_low, at_high = need(low), need(high)
    if at_low > budget:
        return 0
    if at_high <= budget:
        return high
    while high - low > 1:
        along = low + (budget - at_low) * (high - low) // (at_high - at_low)
        for guess in (min(along, high - 1), min(along + 1, high - 1), (low + high) // 2):
            if not low < guess < high:
                continue
            needed = need(guess)
            if needed > budget:
                high, at_high = guess, needed
            else:
                low, at_low = guess, needed
    return low
