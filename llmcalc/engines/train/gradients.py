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
    return Gradients(_of(rank, plan, _behind(rank, plan)), _head(rank, plan))


def in_last(rank: Ledger, plan: Plan, layer: Section, done: Done) -> Gradients:
    """While the last layer is: what is behind it, and as much of its own as is done."""
    own, made = _own(layer, plan, done)
    return Gradients(_of(rank, plan, (*_behind(rank, plan), *own)), _waiting(rank, plan) + made)


def before_last(rank: Ledger, plan: Plan, layer: Section, done: Done) -> Gradients:
    """While the layer before the last is, and the last one's are dealt out."""
    own, made = _own(layer, plan, done)
    behind = (*_behind(rank, plan), layer._replace(times=1), *own)
    copy = buffers.whole(layer, plan) if plan.copies_dealt_out else 0
    return Gradients(_of(rank, plan, behind), _waiting(rank, plan) + made + copy)


def in_first(rank: Ledger, plan: Plan, layer: Section, done: Done) -> Gradients:
    """While the first layer is: all but the tables in front of it and what is not done of it."""
    own, made = _own(layer, plan, done)
    ends = {"first"} if plan.sharding != "fsdp" else {"first", "last"}
    later = [one._replace(times=one.times - 1) if one.name == layer.name else one
             for one in rank.sections if one.kind not in ends]  # fmt: skip
    copy = buffers.whole(layer, plan) if plan.copies_dealt_out else 0
    return Gradients(_of(rank, plan, (*later, *own)), _waiting(rank, plan) + made + copy)


def at_table(rank: Ledger, plan: Plan) -> Gradients:
    """Once the token table's is there: all of them.

    A tied table's two are added to a third.
    """
    made = buffers.table(rank, plan) if _apart(plan) and _trains(plan, "embedding") else 0
    waiting = _waiting(rank, plan) + buffers.tied(rank, plan)
    return Gradients(_of(rank, plan, rank.sections), made + waiting)


def _of(rank: Ledger, plan: Plan, sections: tuple[Section, ...]) -> int:
    """Bytes of the gradients of some sections that are kept, or of all where sums stand there."""
    if plan.summed or plan.optimizer.in_backward:
        sections = rank.sections
    found = trained(rank._replace(sections=sections), plan)
    return plan.stages_held * gradient_bytes(found, plan)


def _behind(rank: Ledger, plan: Plan) -> tuple[Section, ...]:
    """What is behind the layers, which FSDP deals out when all is over."""
    kinds = {"mtp"} if plan.sharding == "fsdp" else {"last", "mtp"}
    return tuple(one for one in rank.sections if one.kind in kinds)


def _own(layer: Section, plan: Plan, done: Done) -> tuple[tuple[Section, ...], int]:
    """What is kept of one layer's gradients so far, and the bytes of what is just made."""
    products = [one for one in layer.operations if isinstance(one, (Matmul, GroupedMatmul))]
    if plan.adapters or done == "nothing" or not products:
        return (), 0
    last = layer._replace(operations=(products[-1],), times=1)
    own = layer._replace(times=1) if done == "all" else last
    if _dealt_out(plan):
        return (), buffers.whole(own, plan)
    if not plan.summed and not plan.states_offloaded:
        return (own,), 0
    if plan.framework.gradient_of_each_shape:
        return (), 0
    one = products[-1] if done == "last" else max(products, key=lambda one: one.weight.numel)
    return (), buffers.whole(layer._replace(operations=(one,)), plan)


def _dealt_out(plan: Plan) -> bool:
    return "gradients" in SHARDED[plan.sharding]


def _apart(plan: Plan) -> bool:
    """Whether a gradient is a tensor of its own before it becomes one that is kept."""
    return plan.summed or plan.states_offloaded or _dealt_out(plan)


def _waiting(rank: Ledger, plan: Plan) -> int:
    """Bytes of the head's gradient, whole until the pass is over, where FSDP or a table waits."""
    return _head(rank, plan) if plan.sharding == "fsdp" else buffers.tied(rank, plan)


def _head(rank: Ledger, plan: Plan) -> int:
    shared = buffers.tied(rank, plan)
    if shared or not _apart(plan) or plan.framework.gradient_of_each_shape:
        return shared
    return buffers.head(rank, plan) if _trains(plan, "head") else 0


def _trains(plan: Plan, table: str) -> bool:
    return plan.adapters is None or table in plan.adapters.trained
