"""What do adapters keep? Bytes beside the frozen products of one layer."""

from __future__ import annotations

from llmcalc.blueprint.operations import GroupedMatmul, Matmul, Operation, Section
from llmcalc.engines.train.plan import Plan
from llmcalc.engines.train.trained import beside as pairs

MASK = 1
"""Bytes of an element of a dropout mask."""


def beside(operation: Operation, plan: Plan) -> int:
    """Bytes a token that the adapter of one product keeps; its input is kept as such.

    Between its factors, of each output that a learned number scales, and with dropout of a copy of
    its input with the mask.
    """
    adapters = plan.adapters
    if adapters is None or not isinstance(operation, (Matmul, GroupedMatmul)):
        return 0
    size, width = 0, plan.recipe.computed
    *_, d_out, d_in = operation.weight.shape
    for pair, first in pairs(operation, adapters):
        if first:
            size += width * adapters.rank * pair.wide
            size += (width + MASK) * d_in if adapters.dropout else 0
        if adapters.magnitudes:
            size += 2 * width * d_out // pair.cut
    return size * (operation.top_k if isinstance(operation, GroupedMatmul) else 1)


def seen(section: Section, plan: Plan) -> frozenset[str]:
    """Products of a layer whose adapters see their inputs as they are, without dropout."""
    adapters = plan.adapters
    if adapters is None or adapters.dropout:
        return frozenset()
    return frozenset(one.name for one in section.operations if pairs(one, adapters))
