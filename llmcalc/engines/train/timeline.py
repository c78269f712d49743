"""The memory of one step over time, on the rank that holds most: its peak is a maximum, no sum."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from llmcalc.blueprint.operations import Ledger, Matmul
from llmcalc.blueprint.shard import shard
from llmcalc.engines.train import activations, buffers, loss
from llmcalc.engines.train.flight import in_flight
from llmcalc.engines.train.lasting import Lasting, lasting
from llmcalc.engines.train.plan import Plan

Phase = Literal["load", "forward", "backward", "step", "save"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Bytes on one GPU at one point of a step, part by part, without what the driver counts."""

    phase: Phase
    at: str
    weights: int
    gradients: int
    master_weights: int
    optimizer: int
    activations: int = 0
    logits: int = 0
    buffers: int = 0

    @property
    def total(self) -> int:
        """All parts."""
        return sum(getattr(self, field.name) for field in fields(self)[2:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One pipeline stage's step."""

    stage: int
    lasting: Lasting
    moments: tuple[Moment, ...]

    @property
    def peak(self) -> Moment:
        """The moment that needs most."""
        return max(self.moments, key=lambda one: one.total)


def timelines(ledger: Ledger, plan: Plan) -> tuple[Line, ...]:
    """The step of each pipeline stage; the ledger was lowered for training.

    Raises ImpossibleError for a split that the model does not allow.
    """
    ranks = shard(ledger, plan.parallel)
    return tuple(_line(rank, number, len(ranks), plan) for number, rank in enumerate(ranks))


def fullest(lines: tuple[Line, ...]) -> Line:
    """The stage whose peak is highest."""
    return max(lines, key=lambda one: one.peak.total)


def _line(rank: Ledger, number: int, of: int, plan: Plan) -> Line:
    held = lasting(rank, plan)
    flying = in_flight(plan.schedule, p=of, stage=number, v=plan.vpp, m=plan.micro_batches)
    one = activations.kept(rank, plan)
    return Line(
        stage=number,
        lasting=held,
        moments=(
            *_passes(rank, plan, held, one=one, all_of_them=int(one * flying)),
            *_steps(rank, plan, held),
        ),
    )


def _passes(
    rank: Ledger, plan: Plan, held: Lasting, *, one: int, all_of_them: int
) -> tuple[Moment, ...]:
    """The ends of the forward pass and of the loss, and both ends of the layers' backward."""
    gradients = held.gradients if plan.summed else 0
    always = plan.framework.workspace + buffers.buckets(rank, plan) + held.copies
    always += buffers.one_of_each_shape(rank, plan) + buffers.stray_gradient(rank, plan)
    gathered = buffers.gathered(rank, plan) + buffers.widened(rank, plan)
    streams = buffers.streams(rank, plan)
    live = activations.again(rank, plan) + activations.working(rank, plan)
    backward = gathered + buffers.unit_gradient(rank, plan)
    head = _head(rank, plan)
    forward = Moment(
        phase="forward", at="all layers and the loss are computed", **_states(held, gradients),
        activations=all_of_them, logits=head[0], buffers=always + gathered + streams,
    )  # fmt: skip
    return (
        forward,
        _replaced(forward, "backward", "the gradient of the logits is there",
                  logits=head[1], buffers=always + gathered + streams),
        _replaced(forward, "backward", "the last layer is gone back through", logits=0,
                  activations=all_of_them + live, buffers=always + backward + streams),
        _replaced(forward, "backward", "the first layer is gone back through", logits=0,
                  gradients=held.gradients, activations=all_of_them - one + live,
                  buffers=always + backward + buffers.table_gradient(rank, plan)),
    )  # fmt: skip


def _steps(rank: Ledger, plan: Plan, held: Lasting) -> tuple[Moment, ...]:
    always = plan.framework.workspace + buffers.buckets(rank, plan)
    always += buffers.one_of_each_shape(rank, plan) + buffers.stray_gradient(rank, plan)
    step = Moment(
        phase="step", at="the optimizer steps", **_states(held, held.gradients),
        buffers=always + held.stepping,
    )  # fmt: skip
    saved = buffers.gathered(rank, plan) if plan.sharded_weights else 0
    save = _replaced(step, "save", "a checkpoint is written", gradients=0, buffers=always + saved)
    return step, save


def _states(held: Lasting, gradients: int) -> dict[str, int]:
    return {
        "weights": held.weights,
        "gradients": gradients,
        "master_weights": held.master_weights,
        "optimizer": held.optimizer,
    }


def _replaced(moment: Moment, phase: Phase, at: str, **parts: int) -> Moment:
    known = {field.name: getattr(moment, field.name) for field in fields(moment)[2:]}
    return Moment(phase=phase, at=at, **(known | parts))


def _head(rank: Ledger, plan: Plan) -> tuple[int, int]:
    """Bytes of logits and loss at the end of the forward pass, and in the backward pass."""
    for section in rank.sections:
        for operation in section.operations:
            if section.kind == "last" and isinstance(operation, Matmul):
                if operation.weight.component != "lm_head":
                    continue
                head = loss.Head(
                    tokens=activations.logit_tokens(plan),
                    vocabulary=operation.width,
                    width=rank.hidden_size,
                    trained=plan.adapters is None or "head" in plan.adapters.trained,
                )
                return loss.forward(plan.loss, head), loss.backward(plan.loss, head)
    return 0, 0
