"""What each model holds while it stands there, scores sequences, or trains."""

from __future__ import annotations

from dataclasses import dataclass, replace

from llmcalc.blueprint.operations import Ledger, Matmul
from llmcalc.blueprint.shard import shard
from llmcalc.engines import weights
from llmcalc.engines.rlhf.handover import handed
from llmcalc.engines.rlhf.share import NOTHING, Share, at
from llmcalc.engines.train import activations, buffers, loss
from llmcalc.engines.train.plan import Pair, Plan
from llmcalc.engines.train.timeline import Line, timelines
from llmcalc.spec.algorithm import Role, RoleName, Stretch
from llmcalc.spec.quantization import Quantization


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One model of a run, on the GPU of one pipeline stage."""

    name: RoleName
    trained: bool
    computes: tuple[Stretch, ...]
    idle: Share
    """While others compute."""
    scoring: Share
    """In a forward pass without gradients."""
    step: tuple[Share, ...] = ()
    """At each point of a training step, the end of its forward pass first."""
    handing: Share = NOTHING
    """While it hands its weights to the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A role, the model that takes it, and how it is stored where it is not trained."""

    role: Role
    ledger: Ledger
    format: Quantization
    within: bool = False
    """Whether it is the policy without its adapters, and has no weights of its own."""
    pairs: tuple[Pair, ...] = ()
    """What adapters stand beside in it, where it is trained with some."""


def members(model: Model, plan: Plan, *, away: bool) -> tuple[Member, ...]:
    """The model on each pipeline stage; `away`: on the host while it does not compute.

    Raises ImpossibleError for a split that the model does not allow.
    """
    ranks = shard(model.ledger, plan.parallel)
    if not model.role.trained:
        return tuple(_frozen(model, rank, plan, away=away) for rank in ranks)
    lines = timelines(model.ledger, plan)
    return tuple(
        _trained(model.role, rank, line, plan, away=away)
        for rank, line in zip(ranks, lines, strict=True)
    )


def _trained(role: Role, rank: Ledger, line: Line, plan: Plan, *, away: bool) -> Member:
    held = line.lasting
    standing = Share(
        weights=held.weights,
        gradients=held.gradients if plan.framework.persistent_gradients else 0,
        master_weights=held.master_weights, optimizer=held.optimizer,
    )  # fmt: skip
    computing = Share(weights=held.weights) if away else standing
    return Member(
        name=role.name, trained=True, computes=role.computes,
        idle=NOTHING if away else standing,
        scoring=_forward(rank, plan, computing, copies=held.copies),
        step=tuple(at(moment) for moment in line.moments),
        handing=replace(computing, buffers=handed(rank, plan)),
    )  # fmt: skip


def _frozen(model: Model, rank: Ledger, plan: Plan, *, away: bool) -> Member:
    ranks = plan.shard_ranks if plan.sharded_weights else 1
    size = 0 if model.within else sum(weights.by_group(rank, model.format).values())
    standing = Share(weights=-(-size // ranks))
    return Member(
        name=model.role.name, trained=False, computes=model.role.computes,
        idle=NOTHING if away else standing, scoring=_forward(rank, plan, standing, copies=0),
    )  # fmt: skip


def _forward(rank: Ledger, plan: Plan, standing: Share, *, copies: int) -> Share:
    """With what one micro-batch needs that keeps nothing for a backward pass.

    One layer is counted as if it kept all of its tensors to its end: a ceiling, since each is let
    go once the next one no longer needs it.
    """
    plain = replace(plan, adapters=None, recompute="none")
    layers = [
        activations.layer_bytes(section, plain)
        for section in rank.sections
        if section.kind in activations.LAYERS
    ]
    return replace(
        standing,
        activations=max(layers, default=0),
        logits=_logits(rank, plan),
        buffers=copies + plan.framework.workspace
        + buffers.gathered(buffers.units(rank, plan), plan) + buffers.widened(rank, plan),
    )  # fmt: skip


def _logits(rank: Ledger, plan: Plan) -> int:
    """Bytes of logits and their log-probabilities, as the loss computes them."""
    heads = [
        operation
        for section in rank.sections
        if section.kind == "last"
        for operation in section.operations
        if isinstance(operation, Matmul) and operation.weight.component == "lm_head"
    ]
    tokens = activations.logit_tokens(plan)
    return sum(
        loss.forward(plan.loss, loss.Head(tokens, one.width, rank.hidden_size, trained=False))
        for one in heads
    )
