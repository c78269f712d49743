"""The order of layers in llama.cpp's graph: how many tell all, and what is read ahead."""

from __future__ import annotations

from llmcalc.blueprint.operations import Ledger, Section, State


def own_inputs(ledger: Ledger) -> bool:
    """Whether each layer has inputs of its own, so that no two layers are alike."""
    return any(
        operation.name == "index_q"
        for section in ledger.sections for operation in section.operations
    )  # fmt: skip


LONGEST_PERIOD = 12
REPEATS = 3


def shortened(order: tuple[str, ...]) -> tuple[str, ...]:
    """The order of layers with at most three repeats of each pattern: more lie where those lay."""
    for period in range(1, LONGEST_PERIOD + 1):
        kept: list[str] = []
        for name in order:
            kept.append(name)
            pattern = kept[-period:]
            if kept[-period * (REPEATS + 1) :] == pattern * (REPEATS + 1):
                del kept[-period:]
        order = tuple(kept)
    return order


def ahead(sections: dict[str, Section], order: tuple[str, ...]) -> int:
    """What the next state-space layer remembers of its inputs, unless attention comes first."""
    for name in order:
        names = {operation.name for operation in sections[name].operations}
        if "in_z" in names and "in_qk" not in names:
            return remembered(sections[name])
        if names & {"attention", "scan", "router"}:
            return 0
    return 0


def remembered(section: Section) -> int:
    """Elements that the convolutions of a layer remember of one sequence."""
    return sum(one.elements for one in section.operations
               if isinstance(one, State) and one.name == "conv_state")  # fmt: skip
