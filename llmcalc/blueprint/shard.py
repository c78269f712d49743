"""Parallelism: the ledger of the fullest rank of each pipeline stage.

Tensor parallelism deals out the indivisible units of a weight (heads, rows of the feed-forward),
and a rank holds at least one: with fewer KV heads than ranks they are replicated, as engines do.
Expert parallelism deals out whole experts, cut further only where tensor ranks are left over.
Pipeline stages take whole layers. Context parallelism changes no operation: a rank caches fewer
tokens (`tokens_on_rank`), not less of each.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from math import prod

from llmcalc.blueprint.operations import (
    AttentionProduct,
    Cache,
    Convolution,
    GroupedMatmul,
    Ledger,
    Matmul,
    Operation,
    Scan,
    Section,
    State,
)
from llmcalc.blueprint.parallel import Parallel, Spare, even_stages, tokens_on_rank
from llmcalc.blueprint.possible import expert_splits, refuse_impossible, tensor_splits
from llmcalc.blueprint.weight import Weight

__all__ = (
    "Parallel", "expert_splits", "refuse_impossible", "shard", "stages", "tensor_splits",
    "tokens_on_rank",
)  # fmt: skip


def shard(ledger: Ledger, parallel: Parallel) -> tuple[Ledger, ...]:
    """The ledger of the fullest rank of each pipeline stage.

    Raises ImpossibleError for a split that the model does not allow, naming the nearest ones.
    """
    refuse_impossible(ledger, parallel)
    if parallel.alone and parallel.vocab_multiple == 1 and not parallel.redundant_experts:
        return (ledger,)
    ranked = ledger._replace(
        sections=tuple(_ranked(section, parallel) for section in ledger.sections),
        whole=ledger.whole or ledger,
    )
    names = stages(ledger.order, parallel.pp, parallel.stages, parallel.spare)
    before = [0, *accumulate(len(layers) for layers in names)]
    return tuple(
        _stage(ranked, layers, number, len(names))._replace(before=before[number])
        for number, layers in enumerate(names)
    )


def stages(
    order: tuple[str, ...], pp: int, sizes: tuple[int, ...] = (), spare: Spare = "inner"
) -> list[tuple[str, ...]]:
    """Layers of each stage in order, `sizes` of them, or as even as they go."""
    bounds, start = [], 0
    for size in sizes or even_stages(len(order), pp, spare):
        bounds.append(order[start : start + size])
        start += size
    return bounds


def _stage(ledger: Ledger, layers: tuple[str, ...], number: int, of: int) -> Ledger:
    """The sections of one stage: its layers, the embedding on the first, the head on the last."""
    times = Counter(layers)
    sections = []
    for section in ledger.sections:
        if section.kind == "layer" and times[section.name]:
            sections.append(section._replace(times=times[section.name]))
        elif section.kind in {"first", "beside"} and number == 0:
            sections.append(section)
        elif section.kind == "last" and number == of - 1:
            sections.append(with_own_head(section) if of > 1 else section)
    return ledger._replace(sections=tuple(sections), order=layers, mtp=())


def with_own_head(section: Section) -> Section:
    """A tied head is a copy where the embedding is on another stage."""
    return section._replace(
        operations=tuple(
            operation._replace(weight=operation.weight._replace(learned=True))
            if isinstance(operation, Matmul)
            else operation
            for operation in section.operations
        ),
    )


def _ranked(section: Section, parallel: Parallel) -> Section:
    """A section of one rank; towers, which are small beside the model, stand whole on each."""
    if section.stream == "tower":
        return section
    ranked = tuple(_rank(operation, parallel) for operation in section.operations)
    return section._replace(operations=ranked)


def _rank(operation: Operation, parallel: Parallel) -> Operation:
    """The share of one operation that the fullest rank holds."""
    if isinstance(operation, (Cache, State, Scan)):
        return _rank_memory(operation, parallel.attention_tp)
    if isinstance(operation, GroupedMatmul):
        return _rank_experts(operation, parallel)
    if isinstance(operation, (Matmul, Convolution)):
        bias = _rank_weight(operation.bias, parallel) if operation.bias else None
        return operation._replace(weight=_rank_weight(operation.weight, parallel), bias=bias)
    weights = tuple(_rank_weight(weight, parallel) for weight in operation.weights)
    if isinstance(operation, AttentionProduct) and operation.backward:
        heads = _share(operation.heads, operation.heads, parallel.attention_tp)
        return operation._replace(heads=heads, weights=weights)
    return operation._replace(weights=weights)


def _rank_memory(operation: Cache | State | Scan, ranks: int) -> Operation:
    """What one rank remembers, and how much it works on that."""
    if isinstance(operation, Cache):
        return _rank_cache(operation, ranks)
    if isinstance(operation, State):
        keys = _share(operation.keys, operation.units, ranks)
        share = _share(operation.elements, operation.units, ranks)
        return operation._replace(elements=share, keys=keys)
    return operation._replace(macs=_share(operation.macs, operation.units, ranks))


def _rank_weight(weight: Weight, parallel: Parallel) -> Weight:
    """The rows or heads that the ranks of its kind leave to the fullest one."""
    ranks = parallel.tp
    if weight.component in ("attention", "ssm"):
        ranks = parallel.attention_tp
    elif weight.component in ("embedding", "lm_head"):
        return _rank_vocabulary(weight, parallel)
    elif weight.component == "shared_expert" and parallel.shared_whole:
        ranks = 1
    return _cut(weight, weight.axis, weight.units, ranks)


def _rank_vocabulary(weight: Weight, parallel: Parallel) -> Weight:
    """Rows of a table by token, filled up so that each rank has as many.

    Groups that attend apart look their own tokens up, and share the head (SGLang without
    --enable-dp-lm-head, python/sglang/srt/models/deepseek_v2.py).
    """
    if weight.units is None:
        return weight
    ranks = parallel.attention_tp if weight.component == "embedding" else parallel.tp
    multiple = parallel.vocab_multiple
    padded = -(-weight.units // multiple) * multiple
    return _sized(weight, weight.axis, -(-padded // ranks))


def _rank_experts(operation: GroupedMatmul, parallel: Parallel) -> GroupedMatmul:
    """The experts of the fullest rank, redundant copies included."""
    physical = operation.experts + parallel.redundant_experts
    held = -(-physical // parallel.ep)

    def share(weight: Weight) -> Weight:
        rows = _cut(weight, weight.axis, weight.units, parallel.expert_rows)
        return _sized(rows, 0, held)

    bias = share(operation.bias) if operation.bias else None
    return operation._replace(experts=physical, weight=share(operation.weight), bias=bias)


def _cut(weight: Weight, axis: int, units: int | None, ranks: int) -> Weight:
    """The part of a weight that the fullest rank holds, cut along one axis."""
    return _sized(weight, axis, _share(weight.shape[axis], units, ranks))


def _sized(weight: Weight, axis: int, size: int) -> Weight:
    """A weight with another size along one axis."""
    shape = list(weight.shape)
    shape[axis] = size
    return weight._replace(shape=tuple(shape), numel=prod(shape))


def _rank_cache(cache: Cache, ranks: int) -> Cache:
    """The cached heads of one rank, and their number where the formula shows it."""
    if cache.units is None:
        return cache
    dims = cache.dims | {"h_kv": _share(cache.units, cache.units, ranks)}
    return cache._replace(
        dims=dims,
        elements=_share(cache.elements, cache.units, ranks),
        keys=_share(cache.keys, cache.units, ranks),
    )


def _share(elements: int, units: int | None, ranks: int) -> int:
    """Elements on the rank that gets most of `units` equal pieces; all where units is None."""
    return elements if units is None else elements // units * -(-units // ranks)
