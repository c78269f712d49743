"""Which gradients of weights stand when? Those kept for the step, and those just made."""

from __future__ import annotations

from typing import NamedTuple

from llmcalc.blueprint.keeping.tensor import Done
from llmcalc.blueprint.operations import GroupedMatmul, Ledger, Matmul, Section
from llmcalc.engines.train import buffers
from llmcalc.engines.train.lasting import gradient_bytes
from llmcalc.engines.train.plan import Plan
from llmcalc.engines.train.trained import trained
from llmcalc.engines.training import SHARDED


class Gradients(NamedTuple):
    """Bytes of gradients at one point of the backward pass."""

    kept: int
    """As far as this rank keeps them, up to the step."""
    made: int = 0
    """Whole, before they are added to others or dealt out."""


def at_head(rank: Ledger, plan: Plan) -> Gradients:
    """While the head is gone back through: its own, which a tied table waits for."""
    return Gradients(_of(rank, plan, _behind(rank)), _head(rank, plan))


def in_last(rank: Ledger, plan: Plan, layer: Section, done: Done) -> Gradients:
    """While the last layer is: what is behind it, and as much of its own as is done."""
    own, made = _own(layer, plan, done)
    return Gradients(_of(rank, plan, _behind(rank), own), buffers.tied(rank, plan) + made)


def in_first(rank: Ledger, plan: Plan, layer: Section, done: Done) -> Gradients:
    """While the first layer is: all but the tables in front of it and what is not done of it."""
    own, made = _own(layer, plan, done)
    later = [one._replace(times=one.times - 1) if one.name == layer.name else one
             for one in rank.sections if one.kind != "first"]  # fmt: skip
    return Gradients(_of(rank, plan, tuple(later), own), buffers.tied(rank, plan) + made)


def at_table(rank: Ledger, plan: Plan) -> Gradients:
    """Once the token table's is there: all of them.

    A tied table's two are added to a third.
    """
    shared = buffers.tied(rank, plan)
    apart = _apart(plan)
    made = buffers.table(rank, plan) if apart and _trains(plan, "embedding") else 0
    return Gradients(_of(rank, plan, rank.sections), made + 2 * shared)


def _of(
    rank: Ledger, plan: Plan, sections: tuple[Section, ...], more: tuple[Section, ...] = ()
) -> int:
    """Bytes of the gradients of some sections that are kept, or of all where sums stand there."""
    if plan.summed or plan.optimizer.in_backward:
        sections, more = rank.sections, ()
    found = trained(rank._replace(sections=(*sections, *more)), plan)
    return plan.stages_held * gradient_bytes(found, plan)


def _behind(rank: Ledger) -> tuple[Section, ...]:
    return tuple(one for one in rank.sections if one.kind in {"last", "mtp"})


def _own(layer: Section, plan: Plan, done: Done) -> tuple[tuple[Section, ...], int]:
    """What is kept of one layer's gradients so far, and the bytes of what is just made."""
    if plan.adapters:
        return (), 0
    if _dealt_out(plan):
        return (), buffers.whole(layer, plan)
    products = [one for one in layer.operations if isinstance(one, (Matmul, GroupedMatmul))]
    if done == "nothing" or not products:
        return (), 0
    if not plan.summed:
        own = layer._replace(times=1)
        return (own if done == "all" else own._replace(operations=(products[-1],)),), 0
    if plan.framework.gradient_of_each_shape:
        return (), 0
    one = products[-1] if done == "last" else max(products, key=lambda one: one.weight.numel)
    return (), buffers.whole(layer._replace(operations=(one,)), plan)


def _dealt_out(plan: Plan) -> bool:
    return "gradients" in SHARDED[plan.sharding]


def _apart(plan: Plan) -> bool:
    """Whether a gradient is a tensor of its own before it becomes one that is kept."""
    return plan.summed or _dealt_out(plan)


def _head(rank: Ledger, plan: Plan) -> int:
    shared = buffers.tied(rank, plan)
    if shared or not _apart(plan) or plan.framework.gradient_of_each_shape:
        return shared
    return buffers.head(rank, plan) if _trains(plan, "head") else 0


def _trains(plan: Plan, table: str) -> bool:
    return plan.adapters is None or table in plan.adapters.trained
