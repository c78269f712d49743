"""What tensor and expert parallelism can cut a model into: the pieces that stay whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from llmcalc.blueprint.operations import (
    AttentionProduct,
    Cache,
    Convolution,
    GroupedMatmul,
    Ledger,
    Matmul,
    Operation,
    Scan,
    State,
)


class Pieces(NamedTuple):
    """The indivisible pieces of a model, each kind as the set of its counts over all layers."""

    layers: int
    heads: frozenset[int]
    """Of attention and recurrences: they must divide evenly."""
    kv_heads: frozenset[int]
    """They divide evenly, or the ranks do and each head is on several."""
    groups: frozenset[int]
    """Channels of convolutions: they divide evenly, or there is one group, on every rank."""
    rows: frozenset[int]
    """Of dense feed-forward parts."""
    shared_rows: frozenset[int]
    """Of shared experts."""
    expert_rows: frozenset[int]
    experts: frozenset[int]
    queries: frozenset[tuple[int, int]]
    """Query heads and cached heads of each kind of layer that caches heads."""
    windows: bool
    """Whether some layers keep a window of tokens."""


def pieces(ledger: Ledger) -> Pieces:
    """What a model can be cut into; towers are not cut."""
    found: dict[str, set[int]] = {name: set() for name in _SETS}
    queries: set[tuple[int, int]] = set()
    windows = False
    for section in ledger.sections:
        if section.stream == "tower":
            continue
        heads = [one.heads for one in section.operations if isinstance(one, AttentionProduct)]
        for operation in section.operations:
            for name, count in _counts(operation):
                found[name].add(count)
            if isinstance(operation, Cache):
                windows = windows or operation.window is not None
                if operation.units:
                    queries |= {(h, operation.units) for h in heads if h % operation.units == 0}
    sets = {name: frozenset(counts) for name, counts in found.items()}
    return Pieces(layers=len(ledger.order), queries=frozenset(queries), windows=windows, **sets)


_SETS = ("heads", "kv_heads", "groups", "rows", "shared_rows", "expert_rows", "experts")


def _counts(operation: Operation) -> Iterator[tuple[str, int]]:
    """The pieces of one operation, by the field of Pieces that they belong to."""
    if isinstance(operation, AttentionProduct):
        # The indexer of sparse attention stands whole on every rank; it keeps nothing to learn.
        if operation.backward:
            yield "heads", operation.heads
    elif isinstance(operation, Scan) and operation.units:
        yield "heads", operation.units
    elif isinstance(operation, (Cache, State)) and operation.units:
        yield "kv_heads", operation.units
    elif isinstance(operation, Convolution) and operation.weight.units:
        yield "groups", operation.weight.units
    elif isinstance(operation, GroupedMatmul):
        yield "experts", operation.experts
        if operation.weight.units:
            yield "expert_rows", operation.weight.units
    elif isinstance(operation, Matmul) and operation.weight.units:
        name = _ROWS.get(operation.weight.component)
        if name:
            yield name, operation.weight.units


_ROWS = {"mlp": "rows", "shared_expert": "shared_rows"}
