"""Worked out: gradients, activations and logits at the peak of a step, on one rank."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from llmcalc.blueprint.keeping.tensor import Kept
from llmcalc.blueprint.operations import Ledger, Section
from llmcalc.engines.kept import count
from llmcalc.engines.train import activations, buffers
from llmcalc.engines.train.flight import in_flight
from llmcalc.engines.train.plan import Plan
from llmcalc.engines.train.timeline import Line
from llmcalc.formula import Number, quietly, record_sum, symbol
from llmcalc.planner.worked_points import Point, point_of
from llmcalc.planner.worked_steps import STAGES, derived, told

SAVED = "tensors that autograd saves, each once"
LARGEST = 4096
"""Tensor ranks times sixteenths of a width, at most."""


def record_passes(rank: Ledger, plan: Plan, line: Line) -> None:
    """Record what the peak holds beside weights, masters and moments."""
    peak = line.peak
    with quietly():
        one = activations.kept(rank, plan)
        flying = _flying(plan, line.stage)
        point = point_of(rank, plan, peak, one=one, flying=int(one * flying))
    if peak.gradients:
        _gradients(plan, point, peak.gradients)
    if peak.activations:
        _layers(rank, plan, one)
        told("in_flight", lambda: _flying(plan, line.stage))
        more = {name: size for name, size in point.more if size}
        signs = "".join(f" {'−' if size < 0 else '+'} {name}" for name, size in more.items())
        values = {"kept": one, "in_flight": flying} | {k: abs(v) for k, v in more.items()}
        text = f"int(kept · in_flight){signs}"
        derived("activations", text, values, peak.activations, source=SAVED, note=f"when {peak.at}")
    if peak.logits:
        told("logits", point.logits)
    with quietly():
        made = point.standing().made
        terms = _buffers(rank, plan, line, made)
    record_sum("buffers", terms, "bytes", "modelled")


def _gradients(plan: Plan, point: Point, held: int) -> None:
    note = "N: the trained numbers of this rank whose gradients are there"
    each = plan.recipe.gradients
    if plan.optimizer.in_backward:
        values = {"N": held // each, "bytes": each}
        derived("gradients", "N · bytes", values, held, source="the largest, used up at once")
    elif plan.stages_held == 1:
        told("gradients", lambda: point.standing().kept, note)
    else:
        told("of_a_stage", lambda: point.standing().kept, note)
        values = {"stages": plan.stages_held, "of_a_stage": held // plan.stages_held}
        derived("gradients", "stages · of_a_stage", values, held, source=STAGES)


def _buffers(rank: Ledger, plan: Plan, line: Line, made: int) -> dict[str, int]:
    """What stands through the step, and what does at the peak alone: gathered weights the rest."""
    terms = {
        "workspace": plan.framework.workspace, "buckets": buffers.buckets(rank, plan),
        "one_of_each_shape": buffers.one_of_each_shape(rank, plan),
        "stray_gradient": buffers.stray_gradient(rank, plan),
    }  # fmt: skip
    if line.peak.phase == "step":
        terms["stepping"] = line.lasting.stepping
    elif line.peak.phase != "save":
        terms |= {
            "copies": line.lasting.copies, "widened_weights": buffers.widened(rank, plan),
            "gathered_stream": buffers.streams(rank, plan), "gradients_just_made": made,
        }  # fmt: skip
    return terms | {"gathered_weights": line.peak.buffers - sum(terms.values())}


def _flying(plan: Plan, stage: int) -> float:
    """Micro-batches in flight."""
    return in_flight(
        plan.schedule, p=plan.parallel.pp, stage=stage, v=plan.vpp, m=plan.micro_batches
    )


def _layers(rank: Ledger, plan: Plan, one: int) -> None:
    """What each kind of layer keeps, and all of them of one micro-batch."""
    terms, sizes = list[str](), dict[str, Number]()
    for section in rank.sections:
        inputs, whole = activations.kept_as(section, plan)
        size = _layer(section, plan)
        if inputs:
            name = symbol(section.name, "input")
            told(name, lambda section=section: activations.stream_bytes(section, plan))  # type: ignore[misc]
            with quietly():
                sizes[name] = activations.stream_bytes(section, plan)
            terms.append(f"{inputs} · {name}")
        if whole and size:
            name = symbol("kept_by_one", section.name)
            sizes[name] = size
            terms.append(f"{whole} · {name}")
    derived("kept", " + ".join(terms), sizes, one, source=f"{SAVED}, of one micro-batch")


def _layer(section: Section, plan: Plan) -> int:
    """Record what one occurrence of a section keeps, tensor by tensor."""
    terms, seen = dict[str, Number](), Counter[str]()
    for one in activations.needed(section.kept, section, plan):
        with quietly():
            size = activations.held(one, section, plan)
        name = symbol(section.name, one.name.replace(",", ""))
        seen[name] += 1
        name = name if seen[name] == 1 else f"{name}_{seen[name]}"
        if size:
            terms[name] = size
            _tensor(name, one, section, plan, size)
    with quietly():
        whole = activations.layer_bytes(section, plan)
    if rest := whole - sum(terms.values()):
        terms["adapters" if plan.adapters else "joined_projection"] = rest
    if terms:
        record_sum(symbol("kept_by_one", section.name), terms, "bytes", "modelled")
    return whole


def _tensor(name: str, one: Kept, section: Section, plan: Plan, size: int) -> None:
    """One saved tensor: its elements so often, on so many ranks, wider or narrower than written."""
    times = count(one, section, activations.workload(plan))
    values: dict[str, Number] = {"elements": one.elements, "bytes": one.bytes, "count": times}
    text, plain = "elements · bytes · count", one.elements * one.bytes * times
    if size != plain:
        share = Fraction(size, plain).limit_denominator(LARGEST)
        text = f"ceil({text} · {share.numerator} / {share.denominator})"
    derived(name, text, values, size, source=SAVED, note=f"{one.text} for each {one.per}")
