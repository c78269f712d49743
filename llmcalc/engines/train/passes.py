"""The passes of one step through one pipeline stage: from the first layer to the loss and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Literal

from llmcalc.blueprint.keeping.tensor import Done
from llmcalc.blueprint.operations import Ledger, Matmul, Section
from llmcalc.engines.train import activations, buffers, gradients, loss
from llmcalc.engines.train.gradients import Gradients
from llmcalc.engines.train.lasting import Lasting
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
class Passes:
    """What the passes of one stage have in common."""

    rank: Ledger
    plan: Plan
    held: Lasting
    one: int
    """Bytes kept of one micro-batch."""
    flying: int
    """Bytes kept of all micro-batches in flight."""
    standing: int
    """Bytes of buffers that stand through the passes."""
    units: buffers.Units
    head: loss.Head | None
    """None on a stage without one."""

    @property
    def kept_logits(self) -> int:
        """Bytes of logits that the training loop holds until the step is over."""
        return loss.kept(self.plan.loss, self.head) if self.head else 0

    def moments(self) -> tuple[Moment, ...]:
        """The points where most may stand, in the order of the step."""
        passes = (*self._to_the_loss(self.head), *self._through_layers(), self._at_table())
        return (*self._gathering(), *passes) if self.plan.copies_dealt_out else passes

    def _gathering(self) -> tuple[Moment, Moment]:
        """When the first layer is gathered with both ends, and the last with the one before.

        Each is copied from the buffer that it came in, which stays until the next is copied.
        """
        rank, plan, sums = self.rank, self.plan, _sums(self.held, self.plan)
        logits = self.kept_logits
        first = self._point("the first layer's weights are gathered", sums, layers=1,
                            activations=self._stream() - self.one, logits=logits)  # fmt: skip
        layers = [
            activations.layer_bytes(one, plan) for one in rank.sections if one.kind == "layer"
        ]
        one = 0 if plan.recompute == "full" else max(layers, default=0)
        last = self._point("the last layer's weights are gathered", sums, layers=3, logits=logits,
                           activations=-one - activations.kept_behind(rank, plan))  # fmt: skip
        copies = buffers.gathered(self.units, plan, 1)
        return (
            replace(first, phase="forward", buffers=first.buffers + copies),
            replace(last, phase="forward"),
        )

    def _to_the_loss(self, head: loss.Head | None) -> tuple[Moment, ...]:
        sums = self._point(
            "all layers and the loss are computed", _sums(self.held, self.plan), layers=0
        )
        forward = replace(sums, phase="forward")
        if head is None:
            return (forward,)
        kind = self.plan.loss
        back = self._point(
            "the head is gone back through", gradients.at_head(self.rank, self.plan),
            activations=self._stream(), logits=loss.gradient(kind, head), layers=1,
        )  # fmt: skip
        at = "the gradient of the logits is there"
        return (
            replace(forward, logits=loss.forward(kind, head)),
            replace(sums, at=at, logits=loss.backward(kind, head)),
            back,
        )

    def _through_layers(self) -> tuple[Moment, ...]:
        """Of layers of different kinds those that need most, wherever they stand."""
        layers = [one for one in self.rank.sections if one.kind in activations.LAYERS]
        found = [
            [moment for at in ats for layer in layers for moment in self._in_layer(at, layer)]
            for ats in (("last", "last but one") if self.plan.copies_dealt_out else ("last",),
                        ("first",))
        ]  # fmt: skip
        return tuple(max(each, key=lambda one: one.total) for each in found if each)

    def _in_layer(self, at: str, layer: Section) -> Iterator[Moment]:
        plan = self.plan
        if at == "last":
            behind = -activations.kept_behind(self.rank, plan)
            standing = gradients.in_last
        elif at == "last but one":
            own = 0 if plan.recompute == "full" else activations.layer_bytes(layer, plan)
            behind = -activations.kept_behind(self.rank, plan) - own
            standing = gradients.before_last
        else:
            behind = activations.kept_in_front(self.rank, layer, plan) - self.one
            standing = gradients.in_first
        live = behind + activations.again(layer, plan)
        most: dict[Done, int] = {}
        for passing, done in activations.passing(layer, plan):
            most[done] = max(passing, most.get(done, passing))
        for done, passing in most.items():
            yield self._point(
                f"the {at} layer is gone back through",
                standing(self.rank, plan, layer, done),
                activations=live + passing,
                logits=self.kept_logits,
            )

    def _at_table(self) -> Moment:
        return self._point(
            "all gradients are there", gradients.at_table(self.rank, self.plan),
            activations=self._stream() - self.one,
            logits=self.kept_logits, layers=0,
        )  # fmt: skip

    def _point(
        self, at: str, standing: Gradients, *, activations: int = 0, logits: int = 0,
        layers: int | None = None,
    ) -> Moment:  # fmt: skip
        """One point of the backward pass; activations beside those of all micro-batches.

        `layers` are those whose weights are gathered; None: the one at work and those prefetched.
        """
        return Moment(
            phase="backward", at=at, weights=self.held.weights, gradients=standing.kept,
            master_weights=self.held.master_weights, optimizer=self.held.optimizer,
            activations=self.flying + activations, logits=logits,
            buffers=self._always(layers) + standing.made,
        )  # fmt: skip

    def _always(self, layers: int | None) -> int:
        return self.standing + buffers.gathered(self.units, self.plan, layers)

    def _stream(self) -> int:
        layers = [one for one in self.rank.sections if one.kind == "layer"]
        return max((activations.stream_bytes(one, self.plan) for one in layers), default=0)


def passes_of(rank: Ledger, plan: Plan, held: Lasting, in_flight: float) -> Passes:
    """The passes of a stage with so many micro-batches in flight."""
    one = activations.kept(rank, plan)
    return Passes(
        rank=rank, plan=plan, held=held, one=one, flying=int(one * in_flight),
        standing=standing_buffers(rank, plan) + held.copies + buffers.widened(rank, plan)
        + buffers.streams(rank, plan),
        units=buffers.units(rank, plan), head=head_of(rank, plan),
    )  # fmt: skip


def standing_buffers(rank: Ledger, plan: Plan) -> int:
    """Bytes of buffers that stand through the whole step."""
    return (
        plan.framework.workspace + buffers.buckets(rank, plan)
        + buffers.one_of_each_shape(rank, plan) + buffers.stray_gradient(rank, plan)
    )  # fmt: skip


def _sums(held: Lasting, plan: Plan) -> Gradients:
    """Gradients of earlier micro-batches."""
    return Gradients(held.gradients if plan.summed else 0)


def head_of(rank: Ledger, plan: Plan) -> loss.Head | None:
    """What the loss of this stage works on; None where it has no head."""
    for section in rank.sections:
        for operation in section.operations:
            if section.kind == "last" and isinstance(operation, Matmul):
                if operation.weight.component != "lm_head":
                    continue
                return loss.Head(
                    tokens=activations.logit_tokens(plan), vocabulary=operation.width,
                    width=rank.hidden_size,
                    trained=plan.adapters is None or "head" in plan.adapters.trained,
                    computed=plan.recipe.computed, kept=plan.framework.keeps_logits,
                )  # fmt: skip
    return None
