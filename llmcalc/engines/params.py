"""How many parameters? Exact, by component, from the weights of the operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from llmcalc import formula
from llmcalc.blueprint.operations import GroupedMatmul, Ledger, Section
from llmcalc.blueprint.weight import COMPONENTS, Component, Weight


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamCount:
    """Counts of learned numbers; tied weights once."""

    total: int
    active: int
    """Used for one token: all but the experts it does not visit, the input embedding included."""
    components: dict[Component, int]
    mtp: int
    """Of multi-token prediction heads, not in the total."""
    buffers: int
    """Stored numbers that are not learned (router correction biases), main model."""
    mtp_buffers: int


def count(ledger: Ledger) -> ParamCount:
    """Count a model's parameters."""
    components = dict.fromkeys(COMPONENTS, 0)
    idle = buffers = 0
    for section in ledger.sections:
        for weight, idle_share in _weights(section):
            numel = weight.numel * section.times
            if weight.learned:
                components[section.component or weight.component] += numel
                idle += numel * idle_share[0] // idle_share[1]
            elif weight.component != "lm_head":
                buffers += numel
    total = sum(components.values())
    return ParamCount(
        total=total,
        active=total - idle,
        components=components,
        mtp=_numel(ledger.mtp, learned=True),
        buffers=buffers,
        mtp_buffers=_numel(ledger.mtp, learned=False),
    )


def explain(ledger: Ledger, found: ParamCount) -> None:
    """Record the worked solution: every weight, then the sum of components."""
    for section in ledger.sections:
        for weight, _ in _weights(section):
            if weight.learned:
                _record_weight(weight, section)
    formula.record_sum("total", found.components, "parameters")


def _record_weight(weight: Weight, section: Section) -> None:
    text = " · ".join(f"({axis})" if "+" in axis else axis for axis in weight.text.split(", "))
    values = {symbol: value for symbol, value in weight.dims.items() if symbol in text}
    if section.kind in {"layer", "beside"}:
        text, values = f"{text} · layers", values | {"layers": section.times}
    formula.record(
        formula.Step(
            name=f"{section.name}.{weight.name}",
            text=text.replace("·", " · ").replace("  ", " "),
            values=values,
            result=weight.numel * section.times,
            unit="parameters",
            note=f"in {section.component or weight.component}",
        )
    )


def _weights(section: Section) -> Iterator[tuple[Weight, tuple[int, int]]]:
    """Each weight with the share of it that one token leaves idle, as a fraction."""
    for operation in section.operations:
        share = (0, 1)
        if isinstance(operation, GroupedMatmul):
            share = (operation.experts - operation.top_k, operation.experts)
        for weight in getattr(operation, "weights", ()):
            yield weight, share


def _numel(sections: Iterable[Section], *, learned: bool) -> int:
    return sum(
        weight.numel * section.times
        for section in sections
        for weight, _ in _weights(section)
        if weight.learned is learned
    )
