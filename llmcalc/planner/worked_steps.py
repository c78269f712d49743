"""Steps of a worked solution under the names of what they are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from llmcalc.formula import Number, Step, record, record_sum, recording

STAGES = "DualPipe holds two stages: arXiv:2412.19437, table 2"


def told(name: str, worked: Callable[[], object], note: str = "") -> None:
    """Record the steps of a calculation under one name; several are numbered and summed."""
    with recording() as steps:
        worked()
    found = [step for step in steps if step.result]
    if len(found) == 1:
        record(replace(found[0], name=name, note=note))
        return
    for number, step in enumerate(found, 1):
        record(replace(step, name=f"{name}_{number}", note=note))
    if found:
        terms = {f"{name}_{number}": step.result for number, step in enumerate(found, 1)}
        record_sum(name, terms, "bytes")


def derived(
    name: str,
    text: str,
    values: Mapping[str, Number],
    result: Number,
    *,
    source: str,
    note: str = "",
) -> None:
    """Record a step of our own, in bytes."""
    step = Step(
        name=name, text=text, values=values, result=result, unit="bytes", basis="modelled",
        source=source, note=note,
    )  # fmt: skip
    record(step)
