"""What is trained? Every learned tensor of a rank, or the factors of its adapters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import prod
from typing import NamedTuple

from llmcalc.blueprint.operations import Gather, GroupedMatmul, Ledger, Matmul, Operation
from llmcalc.blueprint.weight import Weight
from llmcalc.engines.train.plan import Adapters, Pair, Plan

TABLES = {"embedding": "embedding", "lm_head": "head"}


class Tensor(NamedTuple):
    """A trained tensor, as often as there are some alike."""

    shape: tuple[int, ...]
    times: int
    matrix: bool
    """Whether it is a matrix of a layer, of which some optimizers remember less."""
    ranks: int
    """Data ranks among which its states may be dealt out."""
    table: bool = False
    """Whether rows of it are looked up."""

    @property
    def numel(self) -> int:
        """Of one."""
        return prod(self.shape)

    @property
    def total(self) -> int:
        """Of all."""
        return self.numel * self.times


def trained(ledger: Ledger, plan: Plan) -> tuple[Tensor, ...]:
    """The tensors with gradients on the rank that the ledger is of."""
    return tuple(_adapted(ledger, plan) if plan.adapters else _learned(ledger, plan))


def count(ledger: Ledger, plan: Plan) -> int:
    """Trained numbers on one rank."""
    return sum(one.total for one in trained(ledger, plan))


def ranks_of(weight: Weight, plan: Plan) -> int:
    """Data ranks that deal out one copy of a weight; experts are dealt out among them first."""
    parallel = plan.parallel
    if not weight.experts:
        return plan.shard_ranks
    ranks = parallel.expert_ranks // plan.replicate
    return max(1, ranks // (parallel.ep * parallel.expert_rows))


def _learned(ledger: Ledger, plan: Plan) -> Iterator[Tensor]:
    for section in ledger.sections:
        for operation in section.operations:
            for weight in _weights(operation):
                if weight.learned:
                    inner = section.kind not in {"first", "last"} and len(weight.shape) > 1
                    ranks, table = ranks_of(weight, plan), isinstance(operation, Gather)
                    yield Tensor(weight.shape, section.times, inner, ranks, table)


def _adapted(ledger: Ledger, plan: Plan) -> Iterator[Tensor]:
    adapters = plan.adapters
    assert adapters is not None  # noqa: S101  asked for only where there are some
    for section in ledger.sections:
        for operation in section.operations:
            for weight in _weights(operation):
                if TABLES.get(weight.component) in adapters.trained and len(weight.shape) > 1:
                    table = isinstance(operation, Gather)
                    yield Tensor(weight.shape, section.times, False, plan.shard_ranks, table)
            if section.stream != "tower":
                for shape in factors(operation, adapters):
                    yield Tensor(shape, section.times, len(shape) > 1, plan.shard_ranks)


class Beside(NamedTuple):
    """A pair of factors at one of its products."""

    pair: Pair
    first: bool
    """Whether it is the product that the factor which all share is counted with."""


@lru_cache(maxsize=64)
def _by_product(pairs: tuple[Pair, ...]) -> Mapping[str, tuple[Beside, ...]]:
    found: dict[str, tuple[Beside, ...]] = {}
    for pair in pairs:
        for name in pair.products:
            found[name] = (*found.get(name, ()), Beside(pair, name == pair.products[0]))
    return found


def beside(operation: Operation, adapters: Adapters) -> tuple[Beside, ...]:
    """The pairs of factors beside an operation; products alone have any."""
    assert adapters.pairs, "names of targets are not yet looked up"  # noqa: S101
    if not isinstance(operation, (Matmul, GroupedMatmul)):
        return ()
    return _by_product(adapters.pairs).get(operation.name, ())


def factors(operation: Operation, adapters: Adapters) -> Iterator[tuple[int, ...]]:
    """The shapes of the factors beside one product; experts have a pair each."""
    for pair, first in beside(operation, adapters):
        assert isinstance(operation, (Matmul, GroupedMatmul))  # noqa: S101  nothing else has any
        *outer, d_out, d_in = operation.weight.shape
        rank = adapters.rank * pair.wide
        if first:
            yield (*outer, rank, d_in)
        yield (*outer, d_out // pair.cut, rank)
        if adapters.magnitudes:
            yield (*outer, d_out // pair.cut)


def _weights(operation: Operation) -> tuple[Weight, ...]:
    found: tuple[Weight, ...] = getattr(operation, "weights", ())
    return found
