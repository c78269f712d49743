"""What stands on a GPU all the time: weights, masters, moments, gradients once they are there."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.blueprint.operations import Ledger
from llmcalc.engines.train.frozen import frozen_bytes
from llmcalc.engines.train.offload import FLOAT32, Kept, kept
from llmcalc.engines.train.plan import Plan
from llmcalc.engines.train.states import states_of
from llmcalc.engines.train.trained import Tensor, trained
from llmcalc.engines.training import SHARDED, held_bytes

ADAM = 2
"""Moments of optimizers that divide one by the root of the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lasting:
    """Bytes on one rank that no batch changes."""

    weights: int
    gradients: int
    """Of all trained tensors, as far as this rank keeps them."""
    master_weights: int
    optimizer: int
    copies: int
    """16-bit copies that exist while a step computes."""
    stepping: int
    """What exists only while the optimizer steps."""
    away: Kept
    """What is kept beside the GPU instead."""


def lasting(ledger: Ledger, plan: Plan) -> Lasting:
    """What the rank of one stage holds whatever the batch."""
    found = trained(ledger, plan)
    held = plan.stages_held * weights_bytes(ledger, plan, found)
    states = _states(found, plan)
    masters = _each(found, plan, "master_weights")
    stays = not plan.states_offloaded
    return Lasting(
        weights=0 if plan.weights_offloaded else held,
        gradients=plan.stages_held * gradient_bytes(found, plan),
        master_weights=masters if stays else 0,
        optimizer=states if stays and not plan.optimizer.paged else 0,
        copies=_each(found, plan, "copies", dealt="weights"),
        stepping=_stepping(found, plan) if stays else 0,
        away=_away(found, plan, weights=held, states=states, masters=masters),
    )


def weights_bytes(ledger: Ledger, plan: Plan, found: tuple[Tensor, ...]) -> int:
    """Bytes of the weights that a rank keeps: trained ones in the recipe's, frozen in their own."""
    own = _each(found, plan, "weights")
    if plan.adapters is None:
        return own
    return own + -(-frozen_bytes(ledger, plan) // (plan.shard_ranks if plan.sharded_weights else 1))


def _each(found: tuple[Tensor, ...], plan: Plan, part: str, dealt: str = "") -> int:
    """Bytes of one part of the recipe, over the ranks that it is dealt out among."""
    shared = (dealt or part) in SHARDED[plan.sharding]
    sizes: dict[int, int] = {}
    for one in found:
        ranks = one.ranks if shared else 1
        sizes[ranks] = sizes.get(ranks, 0) + one.total
    each = getattr(plan.recipe, part)
    return sum(int(held_bytes(N=n, bytes=each, ranks=ranks)) for ranks, n in sizes.items())


def gradient_bytes(found: tuple[Tensor, ...], plan: Plan) -> int:
    """Bytes of the gradients of some tensors, or the largest one where each is used up at once."""
    if plan.states_offloaded:
        return 0
    if plan.optimizer.in_backward:
        return max((one.numel for one in found), default=0) * plan.recipe.gradients
    return _each(found, plan, "gradients")


def _states(found: tuple[Tensor, ...], plan: Plan) -> int:
    sizes: dict[int, int] = {}
    shared = "optimizer" in SHARDED[plan.sharding]
    for one in found:
        ranks = one.ranks if shared else 1
        each = states_of(one, plan) * one.times
        sizes[ranks] = sizes.get(ranks, 0) + each
    return sum(-(-size // ranks) for ranks, size in sizes.items())


def _stepping(found: tuple[Tensor, ...], plan: Plan) -> int:
    """Float32 gradients of a partition, and the square roots that a foreach step makes at once."""
    more = _each(found, plan, "stepping", dealt="optimizer")
    optimizer = plan.optimizer
    roots = optimizer.moments == ADAM and not optimizer.block and not optimizer.factored
    if plan.framework.foreach and roots and not optimizer.in_backward:
        shared = "optimizer" in SHARDED[plan.sharding]
        moments = sum(-(-one.total // (one.ranks if shared else 1)) for one in found)
        more += plan.framework.foreach * moments * plan.recipe.moment
    return more


def _away(
    found: tuple[Tensor, ...], plan: Plan, *, weights: int, states: int, masters: int
) -> Kept:
    """With the optimizer's states go masters and gradients, in float32 if it widens them."""
    if plan.optimizer.paged and not plan.states_offloaded:
        return Kept(host=states)
    dealt_out = "optimizer" in SHARDED[plan.sharding]
    numbers = sum(-(-one.total // one.ranks) if dealt_out else one.total for one in found)
    gradients = numbers * (FLOAT32 if plan.recipe.stepping else plan.recipe.gradients)
    return kept(
        plan.offload_to, plan.framework.nvme, trained=numbers, computed=plan.recipe.computed,
        states=states + masters + gradients if plan.states_offloaded else 0,
        weights=weights if plan.weights_offloaded else 0,
    )  # fmt: skip
