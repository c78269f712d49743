"""Does it fit? The memory of one GPU by part, as a function of batch and context.

Everything but the cache and the scratch space is fixed, and both grow in straight lines between a
few kinks (a full window, a full prefill chunk): so the largest batch and context are solved, not
searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.shard import Parallel, shard
from llmcalc.engines import activations, kv, weights
from llmcalc.formula import is_recording, quietly, record_sum, symbol
from llmcalc.spec.quantization import Quantization
from llmcalc.spec.runtime import Runtime

Group = Literal["weights", "kv_cache", "state", "activations", "runtime"]
Basis = Literal["exact", "modelled", "measured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One line of the memory of a GPU."""

    name: str
    group: Group
    bytes: int
    basis: Basis
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What one GPU of one pipeline stage holds, for any batch and context."""

    weights: dict[str, int]
    cache: kv.KvProfile
    hidden_size: int
    widest: int
    head: int
    """Rows of the output head, 0 where it is on another stage."""
    runtime: Runtime
    alone: bool
    fixed: int
    """Bytes that no batch or context changes: weights and what the runtime takes for itself."""

    def live(self, batch: int, seq: int) -> int:
        """Bytes of scratch space."""
        tokens = activations.tokens_in_flight(batch, seq, self.runtime.prefill_tokens)
        live: int = activations.live_bytes(
            tokens=tokens, d=self.hidden_size, widest=self.widest, bytes=activations.ELEMENT_BYTES
        )
        return live

    def logits(self, batch: int) -> int:
        """Bytes of the logits."""
        if not self.head:
            return 0
        logits: int = activations.logits_bytes(
            b=batch, V=self.head, bytes=self.runtime.logits_bytes
        )
        return logits

    def total(self, batch: int, seq: int) -> int:
        """Bytes of `batch` sequences of `seq` tokens each."""
        return (
            self.fixed + batch * self.cache.held(seq) + self.live(batch, seq) + self.logits(batch)
        )

    def parts(self, batch: int, seq: int) -> tuple[Part, ...]:
        """The same bytes, itemised."""
        held = [
            Part(name=name, group="weights", bytes=size, basis="exact")
            for name, size in self.weights.items()
        ]
        cached = batch * self.cache.sequence(seq)
        kv.explain(self.cache, batch, seq)
        return (
            *held,
            Part(name="KV cache", group="kv_cache", bytes=cached, basis="exact"),
            Part(name="state", group="state", bytes=batch * self.cache.state_bytes, basis="exact"),
            Part(name="live activations", group="activations", bytes=self.live(batch, seq),
                 basis="modelled", source=self.runtime.prefill_tokens_source),
            Part(name="logits", group="activations", bytes=self.logits(batch), basis="modelled",
                 source=self.runtime.logits_source),
            *overheads(self.runtime, alone=self.alone),
        )  # fmt: skip


def overheads(runtime: Runtime, *, alone: bool) -> tuple[Part, ...]:
    """What a runtime takes for itself on one GPU that works alone or with others."""
    named = [("driver context", runtime.context), ("matmul workspace", runtime.workspace)]
    if not alone:
        named.append(("communication buffers", runtime.collectives))
    return tuple(
        Part(name=name, group="runtime", bytes=one.bytes, basis="modelled", source=one.source)
        for name, one in named
    )


def stages(
    ledger: Ledger, *, format: Quantization, kv_dtype: str, runtime: Runtime, parallel: Parallel
) -> tuple[Stage, ...]:
    """One Stage a pipeline stage; the one that needs most decides.

    Raises ImpossibleError for a split that the model does not allow.
    """
    return tuple(
        _stage(rank, format, kv_dtype, runtime, alone=parallel.alone)
        for rank in shard(ledger, parallel)
    )


def explain(
    ledger: Ledger,
    *,
    format: Quantization,
    kv_dtype: str,
    runtime: Runtime,
    parallel: Parallel,
    batch: int,
    seq: int,
) -> None:
    """Record the worked solution of the fullest stage: each part, and their sum."""
    if not is_recording():
        return
    ranks = shard(ledger, parallel)
    with quietly():
        needs = [
            _stage(rank, format, kv_dtype, runtime, alone=parallel.alone).total(batch, seq)
            for rank in ranks
        ]
    rank = ranks[needs.index(max(needs))]
    parts = _stage(rank, format, kv_dtype, runtime, alone=parallel.alone).parts(batch, seq)
    named = {symbol(part.name): part.bytes for part in parts}
    record_sum("total_per_gpu", named, "bytes", "modelled")


def _stage(
    rank: Ledger, format: Quantization, kv_dtype: str, runtime: Runtime, *, alone: bool
) -> Stage:
    held = weights.by_group(rank, format)
    taken = sum(part.bytes for part in overheads(runtime, alone=alone))
    return Stage(
        weights=held,
        cache=kv.profile(rank, kv_dtype),
        hidden_size=rank.hidden_size,
        widest=activations.widest(rank),
        head=activations.head_width(rank),
        runtime=runtime,
        alone=alone,
        fixed=sum(held.values()) + taken,
    )


def fullest(candidates: Iterable[Stage], batch: int, seq: int) -> Stage:
    """The stage that needs most memory."""
    return max(candidates, key=lambda stage: stage.total(batch, seq))


def largest_batch(stage: Stage, seq: int, budget: int) -> int:
    """The most sequences of `seq` tokens within `budget` bytes; 0 if not even one."""
    chunk = stage.runtime.prefill_tokens
    return largest(
        lambda batch: stage.total(batch, seq), budget, (chunk // seq, -(-chunk // seq), chunk)
    )


def largest_context(stage: Stage, batch: int, budget: int, limit: int | None) -> int:
    """The longest `batch` sequences within `budget` bytes and the model's limit; 0 if none."""
    chunk = stage.runtime.prefill_tokens
    kinks = (chunk // batch, -(-chunk // batch), *stage.cache.windows)
    return largest(lambda seq: stage.total(batch, seq), budget, kinks, limit)


UNBOUNDED = 2**40
"""Where growth is so slow that no budget ends it, as of a model whose every layer has a window."""


def bounded(tokens: int) -> int | None:
    """A longest context to show: None where nothing ends it."""
    return tokens if tokens < UNBOUNDED else None


def largest(
    need: Callable[[int], int], budget: int, kinks: Iterable[int], limit: int | None = None
) -> int:
    """The largest n with need(n) ≤ budget, for a need that grows straight between kinks; else 0."""
    last = limit or UNBOUNDED
    if need(1) > budget:
        return 0
    low = 1
    for high in [*sorted({kink for kink in kinks if 1 < kink < last}), last]:
        if need(high) > budget:
            return _between(need, budget, low, high)
        low = high
    return low


def _between(need: Callable[[int], int], budget: int, low: int, high: int) -> int:
    """On the segment from low, which fits, to high, which does not."""
    at_low, at_high = need(low), need(high)
    guess = low + (budget - at_low) * (high - low) // (at_high - at_low)
    while guess > low and need(guess) > budget:
        guess -= 1
    while guess + 1 < high and need(guess + 1) <= budget:
        guess += 1
    return guess
