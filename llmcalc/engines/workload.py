"""What a model is asked to do: so many sequences, so many new tokens, so many seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmcalc.blueprint.operations import Mask, Stream
from llmcalc.formula import formula

Phase = Literal["prefill", "decode", "train"]
Counted = Literal["causal", "window", "full"]
"""Of a causal product: what its mask leaves; what a published MFU counts, whole up to the window;
all of it, as torch counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """`batch` sequences of `query` new tokens, which see `context` tokens, new ones included."""

    phase: Phase
    batch: int
    query: int
    context: int
    encoder: int = 0
    """Tokens of each sequence that an encoder sees; it does not run again while decoding."""

    @property
    def tokens(self) -> int:
        """New tokens of all sequences."""
        return self.batch * self.query

    def of(self, stream: Stream) -> int:
        """Tokens that a stream's operations work on; images and sound are not counted."""
        if stream == "text":
            return self.tokens
        return self.batch * self.encoder if stream == "encoder" and self.phase != "decode" else 0


@formula(
    "min(n, w) · (min(n, w) + 1) / 2 + w · max(0, n − w)",
    source="token i of n sees the last min(i, w) tokens",
)
def seen_by_first(*, n: int, w: int) -> int:
    """Query-key pairs of the first n tokens of a sequence under causal attention with window w."""
    inside = min(n, w)
    return inside * (inside + 1) // 2 + w * max(0, n - w)


def causal_pairs(workload: Workload, window: int | None) -> int:
    """Query-key pairs of one sequence's new tokens, each seeing itself and what came before."""
    w = window or workload.context
    before = workload.context - workload.query
    pairs: int = seen_by_first(n=workload.context, w=w)
    if before:
        pairs -= seen_by_first(n=before, w=w)
    return pairs


def pairs(
    workload: Workload, mask: Mask, stream: Stream, window: int | None, counted: Counted
) -> int:
    """Query-key pairs of one sequence."""
    if stream != "text":
        return workload.encoder**2 if workload.of(stream) else 0
    if mask == "cross":
        return workload.query * workload.encoder
    if mask == "full":
        return workload.query * workload.context
    if counted == "window":
        return workload.query * min(workload.context, window or workload.context)
    return (full_pairs if counted == "full" else causal_pairs)(workload, window)


def full_pairs(workload: Workload, window: int | None) -> int:
    """Query-key pairs of the whole product, masked or not; a cache holds at most the window."""
    kept = min(workload.context, max(window or workload.context, workload.query))
    return workload.query * kept
