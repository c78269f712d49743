"""What do a rank's layers keep? Bytes between forward and backward of one micro-batch."""

from __future__ import annotations

from dataclasses import replace

from llmcalc.blueprint.keeping.tensor import Done, Kept
from llmcalc.blueprint.operations import GroupedMatmul, Ledger, Matmul, Section
from llmcalc.engines.kept import count, kept_bytes
from llmcalc.engines.train.beside import beside, seen
from llmcalc.engines.train.plan import Plan
from llmcalc.engines.workload import Workload

LAYERS = {"layer", "beside"}
HALF = 2
"""Bytes of a number in 16 bits."""
PAIRS = {"pair", "cross pair"}


def workload(plan: Plan) -> Workload:
    """One micro-batch as one context rank sees it."""
    seq = -(-plan.seq // plan.parallel.cp)
    return Workload(phase="train", batch=plan.micro_batch, query=seq, context=seq, encoder=seq)


def logit_tokens(plan: Plan) -> int:
    """Tokens of one micro-batch on one context rank whose logits are computed."""
    seq = plan.seq if plan.with_logits is None else min(plan.seq, plan.with_logits)
    return plan.micro_batch * -(-seq // plan.parallel.cp)


def kept(ledger: Ledger, plan: Plan) -> int:
    """Bytes kept of one micro-batch by all layers of a rank, ends included."""
    total = 0
    for section in ledger.sections:
        inputs, whole = kept_as(section, plan)
        total += inputs * stream_bytes(section, plan) if inputs else 0
        total += whole * layer_bytes(section, plan)
    return total


def kept_as(section: Section, plan: Plan) -> tuple[int, int]:
    """Of how many layers the input alone is kept, and of how many all."""
    if section.kind not in LAYERS or plan.recompute != "full":
        return 0, section.times
    again = -(-section.times // plan.one_in)
    return -(-again // plan.every), section.times - again


def kept_behind(ledger: Ledger, plan: Plan) -> int:
    """Bytes kept behind the last layer, by the final norm and for the head."""
    return sum(layer_bytes(one, plan) for one in ledger.sections if one.kind == "last")


def kept_in_front(ledger: Ledger, layer: Section, plan: Plan) -> int:
    """Bytes kept of one layer, were it the first, and by what stands in front of it."""
    first = sum(layer_bytes(one, plan) for one in ledger.sections if one.kind == "first")
    own = stream_bytes(layer, plan) if plan.recompute == "full" else layer_bytes(layer, plan)
    return first + own


def layer_bytes(section: Section, plan: Plan) -> int:
    """Bytes that one layer keeps where it is not computed again as a whole."""
    found = needed(section.kept, section, plan)
    size = sum(held(one, section, plan) for one in found)
    if plan.adapters and plan.adapters.quantised:
        inputs = sum(held(one, section, plan) for one in found if one.needed_for == "product")
        size += max(plan.framework.quantised_inputs - 1, 0) * inputs + _widened(section, plan)
    for operation in section.operations:
        stream = getattr(operation, "stream", None) or section.stream
        size += workload(plan).of(stream) * beside(operation, plan)
    return size + _joined(section, plan)


def _widened(section: Section, plan: Plan) -> int:
    """Bytes of a layer's matrices as products saw them, where those are kept beside the stored."""
    if not plan.framework.keeps_widened or section.kind not in LAYERS:
        return 0
    products = (one for one in section.operations if isinstance(one, (Matmul, GroupedMatmul)))
    return plan.recipe.computed * sum(one.weight.numel for one in products)


def stream_bytes(section: Section, plan: Plan) -> int:
    """Bytes of the input of one layer, all that is kept of one that is computed again.

    The gradient that passes from layer to layer is as large.
    """
    tokens = workload(plan).of(section.stream)
    size: int = kept_bytes(elements=section.width, bytes=plan.recipe.computed, count=tokens)
    return -(-size // stream_ranks(plan))


def again(section: Section, plan: Plan) -> int:
    """Bytes that are computed anew of the layers that are gone back through together."""
    if plan.recompute == "full":
        return min(section.times, plan.every) * layer_bytes(section, plan)
    if plan.recompute == "selective":
        return layer_bytes(section, replace(plan, recompute="none")) - layer_bytes(section, plan)
    return 0


def passing(section: Section, plan: Plan) -> tuple[tuple[int, Done], ...]:
    """Bytes at points of one layer's backward pass beside what the layer keeps.

    Gradients that pass through less what is let go by then; with the gradient of the stream.
    """
    whole = replace(plan, recompute="none")
    stream = stream_bytes(section, plan)
    return tuple(
        (stream + sum(held(one, section, plan) for one in needed(tensors, section, whole)), done)
        for tensors, done in section.passing
    )


def stream_ranks(plan: Plan) -> int:
    """Tensor ranks that divide the residual stream among them."""
    return plan.parallel.tp if plan.sequence_parallel else 1


def needed(tensors: tuple[Kept, ...], section: Section, plan: Plan) -> list[Kept]:
    """Those that a backward pass through a layer needs, or its trained weights."""
    by_adapters = seen(section, plan)
    return [
        one
        for one in tensors
        if not (plan.recompute == "selective" and one.per in PAIRS)
        and not (plan.recipe.computed > HALF and one.narrowed)
        and one.by(plan.kernels, frozenset() if by_adapters.intersection(one.feeds)
                   else plan.not_trained)
    ]  # fmt: skip


def held(one: Kept, section: Section, plan: Plan) -> int:
    """Bytes of one saved tensor on this rank, as wide as the recipe computes."""
    size: int = kept_bytes(
        elements=one.elements, bytes=one.bytes, count=count(one, section, workload(plan))
    )
    if abs(one.bytes) == HALF:
        size = size * plan.recipe.computed // HALF
    if one.needed_for == "product" and plan.recipe.computed == HALF:
        size = size * plan.recipe.inputs // HALF
    if one.per in PAIRS:
        size *= plan.parallel.cp  # the keys of all context ranks
    if "v" in one.dims and "v" in one.text:
        size = int(size * plan.imbalance)  # of a mixture, by the experts that a token visits
    ranks = stream_ranks(plan) if one.residual else plan.parallel.tp
    return -(-size // ranks)


def _joined(section: Section, plan: Plan) -> int:
    """Bytes of queries and keys before their rotation, where values are cut from one with them."""
    if not plan.framework.joined_qkv or plan.kernels == "eager":
        return 0
    widths = sum(one.width for one in section.operations
                 if isinstance(one, Matmul) and one.name in {"q", "k"})  # fmt: skip
    return plan.recipe.computed * widths * workload(plan).of(section.stream)
