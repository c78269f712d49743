"""Worked out: of which terms the engines made the point of a step where the peak is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from llmcalc.blueprint.operations import Ledger
from llmcalc.engines.train import activations, gradients, loss
from llmcalc.engines.train.gradients import Gradients
from llmcalc.engines.train.lasting import gradient_bytes
from llmcalc.engines.train.passes import Moment, head_of
from llmcalc.engines.train.plan import Plan
from llmcalc.engines.train.trained import trained


class Point(NamedTuple):
    """What a point of the step holds."""

    standing: Callable[[], Gradients]
    more: tuple[tuple[str, int], ...] = ()
    """Activations beside those of all micro-batches in flight; negative where they are gone."""
    logits: Callable[[], int] = int


def point_of(rank: Ledger, plan: Plan, peak: Moment, *, one: int, flying: int) -> Point:
    """The point that the peak is; `one` micro-batch keeps so much, all in flight so much."""
    whole = trained(rank, plan)
    head, kind = head_of(rank, plan), plan.loss
    kept = (lambda: loss.kept(kind, head)) if head else int
    if peak.phase in {"step", "save"}:
        return Point(lambda: Gradients(gradient_bytes(whole, plan)), logits=kept)
    if "layer is gone back" in peak.at:
        return next(
            found for found in _in_layers(rank, plan, peak.at, one)
            if flying + sum(size for _, size in found.more) == peak.activations
            and found.standing().kept == peak.gradients
        )  # fmt: skip
    summed = Point(lambda: Gradients(gradient_bytes(whole, plan) if plan.summed else 0))
    stream = ("stream", _stream(rank, plan))
    less = (("kept", -one), stream)
    points = {
        "the first layer's weights are gathered": summed._replace(more=less, logits=kept),
        "the last layer's weights are gathered": summed._replace(
            more=(("kept_later", peak.activations - flying),), logits=kept
        ),
        "all gradients are there": Point(lambda: gradients.at_table(rank, plan), less, kept),
    }
    if head is None or peak.at in points:
        return points.get(peak.at, summed)
    if peak.at == "the head is gone back through":
        logits = lambda: loss.gradient(kind, head)  # noqa: E731  as its neighbours
        return Point(lambda: gradients.at_head(rank, plan), (stream,), logits)
    ends = loss.forward if peak.phase == "forward" else loss.backward
    return summed._replace(logits=lambda: ends(kind, head))


def _in_layers(rank: Ledger, plan: Plan, at: str, one: int) -> Iterator[Point]:
    """The points within the last layer, or the first, of each kind."""
    head, last = head_of(rank, plan), "last layer" in at
    but_one = "last but one" in at
    kept = (lambda: loss.kept(plan.loss, head)) if head else int
    for layer in rank.sections:
        if layer.kind not in activations.LAYERS:
            continue
        behind: tuple[tuple[str, int], ...]
        behind = (("kept_behind", -activations.kept_behind(rank, plan)),)
        if but_one:
            own = 0 if plan.recompute == "full" else activations.layer_bytes(layer, plan)
            behind = (*behind, ("last_layer", -own))
        elif not last:
            behind = (("kept", -one),
                      ("first_layer", activations.kept_in_front(rank, layer, plan)))  # fmt: skip
        for passing, done in activations.passing(layer, plan):
            more = (*behind, ("again", activations.again(layer, plan)), ("passing", passing))
            standing = gradients.in_last if last else gradients.in_first
            standing = gradients.before_last if but_one else standing
            yield Point(
                lambda standing=standing, layer=layer, done=done: standing(rank, plan, layer, done),  # type: ignore[misc]
                more, kept,
            )  # fmt: skip


def _stream(rank: Ledger, plan: Plan) -> int:
    layers = [one for one in rank.sections if one.kind == "layer"]
    return max((activations.stream_bytes(one, plan) for one in layers), default=0)
