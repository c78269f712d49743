"""Parallelism: the ledger of the fullest rank of each pipeline stage.

Tensor parallelism deals out the indivisible units of a weight (heads, rows of the feed-forward),
and a rank holds at least one: with fewer KV heads than ranks they are replicated, as engines do.
Expert parallelism deals out whole experts, which are then not cut further. Pipeline stages take
whole layers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
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
from llmcalc.blueprint.weight import Weight
from llmcalc.errors import ImpossibleError


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel:
    """Ranks along each axis; `dp` counts replicas, each with a share of the sequences."""

    tp: int = 1
    pp: int = 1
    ep: int = 1
    dp: int = 1

    @property
    def gpus(self) -> int:
        """Devices in use; experts are dealt out within the tensor and data ranks."""
        return self.tp * self.pp * self.dp

    @property
    def alone(self) -> bool:
        """Whether no two devices work on one sequence."""
        return self.tp == self.pp == self.ep == 1


def shard(ledger: Ledger, parallel: Parallel) -> tuple[Ledger, ...]:
    """The ledger of the fullest rank of each pipeline stage.

    Raises ImpossibleError for a split that the model does not allow, naming the nearest ones.
    """
    if parallel.alone:
        return (ledger,)
    refuse_impossible(ledger, parallel)
    ranked = ledger._replace(
        sections=tuple(_ranked(section, parallel) for section in ledger.sections)
    )
    names = stages(ledger.order, parallel.pp)
    return tuple(_stage(ranked, layers, number, len(names)) for number, layers in enumerate(names))


def stages(order: tuple[str, ...], pp: int) -> list[tuple[str, ...]]:
    """Layers of each stage in order; the rest of the division goes to stages after the first."""
    base, more = divmod(len(order), pp)
    extra = [0] * pp
    for position in range(more):
        extra[(position + 1) % pp] = 1
    bounds, start = [], 0
    for stage in range(pp):
        end = start + base + extra[stage]
        bounds.append(order[start:end])
        start = end
    return bounds


def refuse_impossible(ledger: Ledger, parallel: Parallel) -> None:
    """Raise ImpossibleError where heads, experts or layers do not divide as asked."""
    for what, asked, possible in (
        ("--tp", parallel.tp, tensor_splits(ledger, 4 * parallel.tp)),
        ("--ep", parallel.ep, expert_splits(ledger, 4 * parallel.ep)),
        ("--pp", parallel.pp, tuple(range(1, len(ledger.order) + 1))),
    ):
        if asked not in possible:
            below = max((n for n in possible if n < asked), default=1)
            above = min((n for n in possible if n > asked), default=None)
            near = f"{below} or {above}" if above else str(below)
            raise ImpossibleError(
                f"{what} {asked} does not divide this model", hint=f"possible near it: {near}"
            )
    if (parallel.tp * parallel.dp) % parallel.ep:
        raise ImpossibleError(
            f"--ep {parallel.ep} does not divide --tp times --dp, {parallel.tp * parallel.dp}",
            hint="experts are dealt out among those ranks",
        )


def tensor_splits(ledger: Ledger, most: int) -> tuple[int, ...]:
    """Degrees of tensor parallelism up to `most` that divide heads and feed-forward rows.

    Key and value heads must divide the degree or be divided by it; towers are not cut.
    """
    if most == 1:
        return (1,)
    heads, kv_heads, rows = set(), set(), set()
    for section in ledger.sections:
        for operation in section.operations if section.stream != "tower" else ():
            if isinstance(operation, AttentionProduct):
                heads.add(operation.heads)
            elif isinstance(operation, (Cache, State)) and operation.units:
                kv_heads.add(operation.units)
            elif isinstance(operation, Scan) and operation.units:
                heads.add(operation.units)
            elif (
                isinstance(operation, (Matmul, GroupedMatmul))
                and operation.weight.component in _ROWS
                and operation.weight.units
            ):
                rows.add(operation.weight.units)
    return tuple(
        n for n in range(1, most + 1)
        if all(h % n == 0 for h in heads | rows) and all(h % n == 0 or n % h == 0 for h in kv_heads)
    )  # fmt: skip


_ROWS = ("mlp", "experts", "shared_expert")


def expert_splits(ledger: Ledger, most: int) -> tuple[int, ...]:
    """Degrees of expert parallelism up to `most` that divide the number of experts."""
    experts = {
        operation.experts
        for section in ledger.sections
        for operation in section.operations
        if isinstance(operation, GroupedMatmul)
    }
    return tuple(
        n for n in range(1, most + 1) if n == 1 or (experts and all(e % n == 0 for e in experts))
    )


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
            sections.append(_with_own_head(section) if of > 1 else section)
    return ledger._replace(sections=tuple(sections), order=layers, mtp=())


def _with_own_head(section: Section) -> Section:
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
    if isinstance(operation, Cache):
        return _rank_cache(operation, parallel.tp)
    if isinstance(operation, State):
        share = _share(operation.elements, operation.units, parallel.tp)
        return operation._replace(elements=share)
    if isinstance(operation, Scan):
        return operation._replace(macs=_share(operation.macs, operation.units, parallel.tp))
    if isinstance(operation, (Matmul, GroupedMatmul, Convolution)):
        bias = _rank_weight(operation.bias, parallel) if operation.bias else None
        return operation._replace(weight=_rank_weight(operation.weight, parallel), bias=bias)
    weights = tuple(_rank_weight(weight, parallel) for weight in operation.weights)
    if isinstance(operation, AttentionProduct):
        return operation._replace(
            heads=_share(operation.heads, operation.heads, parallel.tp), weights=weights
        )
    return operation._replace(weights=weights)


def _rank_weight(weight: Weight, parallel: Parallel) -> Weight:
    if weight.experts and parallel.ep > 1:
        return _cut(weight, 0, weight.experts, parallel.ep)
    return _cut(weight, weight.axis, weight.units, parallel.tp)


def _cut(weight: Weight, axis: int, units: int | None, ranks: int) -> Weight:
    """The part of a weight that the fullest rank holds, cut along one axis."""
    shape = list(weight.shape)
    shape[axis] = _share(shape[axis], units, ranks)
    return weight._replace(shape=tuple(shape), numel=prod(shape))


def _rank_cache(cache: Cache, ranks: int) -> Cache:
    """The cached heads of one rank, and their number where the formula shows it."""
    if cache.units is None:
        return cache
    dims = cache.dims | {"h_kv": _share(cache.units, cache.units, ranks)}
    return cache._replace(dims=dims, elements=_share(cache.elements, cache.units, ranks))


def _share(elements: int, units: int | None, ranks: int) -> int:
    """Elements on the rank that gets most of `units` equal pieces; all where units is None."""
    return elements if units is None else elements // units * -(-units // ranks)
