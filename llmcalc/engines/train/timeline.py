"""The memory of one step over time, on the rank that holds most: its peak is a maximum, no sum."""

from __future__ import annotations

from dataclasses import dataclass, replace

from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.shard import shard
from llmcalc.engines.train import buffers
from llmcalc.engines.train.flight import in_flight
from llmcalc.engines.train.lasting import Lasting, lasting
from llmcalc.engines.train.passes import Moment, Passes, passes_of, standing_buffers
from llmcalc.engines.train.plan import Plan


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
    passes = passes_of(rank, plan, held, flying)
    return Line(stage=number, lasting=held, moments=(*passes.moments(), *_steps(passes)))


def _steps(passes: Passes) -> tuple[Moment, Moment]:
    """The optimizer's step, and writing a checkpoint, for which dealt-out weights are gathered."""
    held, rank, plan = passes.held, passes.rank, passes.plan
    always = standing_buffers(rank, plan)
    step = Moment(
        phase="step", at="the optimizer steps", weights=held.weights, gradients=held.gradients,
        master_weights=held.master_weights, optimizer=held.optimizer,
        logits=passes.kept_logits, buffers=always + held.stepping,
    )  # fmt: skip
    saved = buffers.gathered(passes.units, plan) if plan.sharded_weights else 0
    at = "a checkpoint is written"
    return step, replace(step, phase="save", at=at, gradients=0, buffers=always + saved)
