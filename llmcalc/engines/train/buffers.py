"""What is made on the way: gathered weights, widened ones, buckets, gradients of one shape."""

from __future__ import annotations

from typing import NamedTuple

from llmcalc.blueprint.operations import GroupedMatmul, Ledger, Matmul, Section
from llmcalc.blueprint.weight import Weight
from llmcalc.engines.train.activations import LAYERS, workload
from llmcalc.engines.train.frozen import frozen_bytes, quantises_experts
from llmcalc.engines.train.plan import Plan
from llmcalc.engines.train.trained import trained


class Units(NamedTuple):
    """Bytes of weights that a rank gathers, whole; nothing where it has them all."""

    layer: int = 0
    """The largest."""
    ends: int = 0
    """Tables at both ends, which the outermost unit holds."""
    every: int = 0
    """The whole model, where that is how a framework gathers."""


def units(ledger: Ledger, plan: Plan) -> Units:
    """What a rank gathers of its stage."""
    dealt_out = plan.sharded_weights and plan.shard_ranks > 1
    if not (dealt_out or plan.weights_offloaded):
        return Units()
    if dealt_out and plan.framework.keeps_gathered:
        return Units(every=_stored(ledger, ledger.sections, plan))
    layers = [_stored(ledger, (one._replace(times=1),), plan) for one in _layers(ledger)]
    ends = tuple(one for one in ledger.sections if one.kind not in LAYERS)
    return Units(layer=max(layers, default=0), ends=_stored(ledger, ends, plan))


def gathered(found: Units, plan: Plan, layers: int | None = None) -> int:
    """Bytes of weights that a rank has beyond its own share while it computes.

    Of so many layers, the one at work and those prefetched if not said. FSDP lets go of a layer
    once it is done, ZeRO-3 as late as it may (DeepSpeed, stage3_max_live_parameters).
    """
    if layers is None or plan.sharding != "fsdp":
        layers = 1 + plan.framework.prefetched
    return found.every + layers * found.layer + found.ends


def widened(ledger: Ledger, plan: Plan) -> int:
    """Bytes of the largest quantised matrix in 16 bits, as products need it.

    DoRA adds the product of its factors to a matrix, to take the norm of the sum.
    """
    if plan.adapters is None or not (plan.adapters.quantised or plan.adapters.magnitudes):
        return 0
    experts = GroupedMatmul if quantises_experts(plan) or not plan.adapters.quantised else Matmul
    sizes = [
        operation.weight.numel
        for section in _layers(ledger)
        for operation in section.operations
        if isinstance(operation, (Matmul, experts))
    ]
    copies = plan.adapters.quantised + 2 * plan.adapters.magnitudes
    return plan.recipe.computed * copies * max(sizes, default=0)


def one_of_each_shape(ledger: Ledger, plan: Plan) -> int:
    """Bytes of one 16-bit gradient of each shape of matrix."""
    if not plan.framework.gradient_of_each_shape or plan.adapters:
        return 0
    shapes = {
        (weight.shape, operation.name if isinstance(operation, GroupedMatmul) else ""): weight.numel
        for section in ledger.sections
        for operation in section.operations
        if isinstance(operation, Matmul)
        for weight in (operation.weight,)
    }
    return plan.recipe.computed * sum(shapes.values())


def stray_gradient(ledger: Ledger, plan: Plan) -> int:
    """Bytes of the gradient of a frozen table that autograd makes and no optimizer knows of."""
    quantised = plan.adapters is not None and plan.adapters.quantised
    return table(ledger, plan) if quantised and plan.framework.stray_table_gradient else 0


def table(ledger: Ledger, plan: Plan) -> int:
    """Bytes of the gradient of the largest token table, which is as dense as the table."""
    tables = [one for section in ledger.sections for one in _of(section)]
    sizes = [one.numel for one in tables if one.component == "embedding"]
    return plan.recipe.computed * max(sizes, default=0)


def head(ledger: Ledger, plan: Plan) -> int:
    """Bytes of the gradient of the head, as its product makes it."""
    return plan.recipe.computed * max((one.numel for one in _heads(ledger)), default=0)


def tied(ledger: Ledger, plan: Plan) -> int:
    """Bytes of the gradient of a head that is the token table, until that has its own."""
    if plan.adapters:
        return 0
    sizes = [one.numel for one in _heads(ledger) if not one.learned]
    return plan.recipe.computed * max(sizes, default=0)


def whole(section: Section, plan: Plan) -> int:
    """Bytes of the gradients of one occurrence of a section, before they are dealt out."""
    return plan.recipe.computed * sum(weight.numel for weight in _of(section))


def buckets(ledger: Ledger, plan: Plan) -> int:
    """Bytes of the buckets that gradients are summed in over ranks.

    torch's DistributedDataParallel has one for every gradient, beside them all the time, unless it
    is told that they are views of it (gradient_as_bucket_view); FSDP has none.
    """
    if plan.framework.buckets_first:
        return 2 * plan.framework.bucket
    if plan.data_ranks == 1 or plan.sharding == "fsdp" or not plan.framework.bucket:
        return 0
    whole = sum(one.total for one in trained(ledger, plan)) * plan.recipe.gradients
    return whole if plan.sharding == "ddp" else min(2 * plan.framework.bucket, whole)


def streams(ledger: Ledger, plan: Plan) -> int:
    """Bytes of the residual stream that tensor ranks gather whole: inputs and their gradients."""
    if not plan.sequence_parallel or plan.parallel.tp == 1:
        return 0
    return STREAMS * plan.recipe.computed * workload(plan).tokens * ledger.hidden_size


STREAMS = 4
"""Whole copies of the stream at once: the gathered input of a product for its weight gradient, the
gradient of the output, that of the input before it is dealt out, and the one being computed."""


def _stored(ledger: Ledger, sections: tuple[Section, ...], plan: Plan) -> int:
    """Bytes of all weights of some sections as they are gathered."""
    if plan.adapters and plan.adapters.quantised:
        return frozen_bytes(ledger._replace(sections=sections), plan)
    return plan.recipe.computed * sum(
        one.times * weight.numel for one in sections for weight in _of(one)
    )


def _layers(ledger: Ledger) -> list[Section]:
    return [one for one in ledger.sections if one.kind in LAYERS]


def _of(section: Section) -> list[Weight]:
    return [
        weight
        for operation in section.operations
        for weight in getattr(operation, "weights", ())
        if weight.learned
    ]


def _heads(ledger: Ledger) -> list[Weight]:
    return [
        operation.weight
        for section in ledger.sections
        for operation in section.operations
        if isinstance(operation, Matmul) and operation.weight.component == "lm_head"
    ]
