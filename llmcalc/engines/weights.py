"""How many bytes do the weights take? Elements by class under a quantisation policy."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.weight import Component, Weight
from llmcalc.formula import about, formula, record_sum, symbol
from llmcalc.spec.quantization import Quantization

GROUPS: dict[Component, str] = {
    "embedding": "embedding",
    "lm_head": "head",
    "experts": "experts",
    "attention": "attention",
    "mlp": "mlp",
    "shared_expert": "shared expert",
    "norm": "norms",
    "router": "router",
    "vision": "vision tower",
    "ssm": "recurrent mixers",
}
"""How components are named in a list of memory parts; the rest is `other weights`."""


@dataclass(slots=True)
class Elements:
    """A running count of the elements of one group, by how they are stored."""

    quantised: int = 0
    kept: int = 0
    scales: int = 0


@formula(
    "ceil(elements · bits / 8)",
    source="elements one after the other, as the format stores them",
    unit="bytes",
)
def plain_bytes(*, elements: int, bits: int) -> int:
    """Bytes of elements that are all stored alike."""
    return -(-elements * bits // 8)


@formula(
    "ceil((quantised · bits + kept · kept_bits + scales · scale_bits) / 8)",
    source="elements one after the other, as the format stores them",
    unit="bytes",
)
def stored_bytes(
    *, quantised: int, bits: int, kept: int, kept_bits: int, scales: int, scale_bits: int
) -> int:
    """Bytes of a group of weights, its scales included."""
    return -(-(quantised * bits + kept * kept_bits + scales * scale_bits) // 8)


def by_group(ledger: Ledger, format: Quantization) -> dict[str, int]:
    """Bytes of all weights of a (sharded) ledger by the names of GROUPS."""
    groups: dict[str, Elements] = {}
    for section in ledger.sections:
        times = section.times
        for operation in section.operations:
            for weight in getattr(operation, "weights", ()):
                if not weight.learned and weight.component == "lm_head":
                    continue  # the tied table, counted as the embedding
                name = GROUPS.get(section.component or weight.component, "other weights")
                elements = groups.get(name) or groups.setdefault(name, Elements())
                if weight.role not in format.classes:
                    elements.kept += weight.numel * times
                    continue
                elements.quantised += weight.numel * times
                if format.group is not None:
                    elements.scales += scales(weight, format) * times
    sizes = {}
    for name, elements in groups.items():
        with about(symbol(name)):
            sizes[name] = _bytes(elements, format)
    record_sum("weights", {symbol(name): size for name, size in sizes.items()}, "bytes")
    return sizes


def _bytes(elements: Elements, format: Quantization) -> int:
    size: int
    if not elements.quantised:
        size = plain_bytes(elements=elements.kept, bits=format.kept_bits)
        return size
    if not elements.kept and not elements.scales:
        size = plain_bytes(elements=elements.quantised, bits=format.bits)
        return size
    size = stored_bytes(
        quantised=elements.quantised,
        bits=format.bits,
        kept=elements.kept,
        kept_bits=format.kept_bits,
        scales=elements.scales,
        scale_bits=format.scale_bits,
    )
    return size


def scales(weight: Weight, format: Quantization) -> int:
    """Number of scales of one tensor: one a matrix, an output row, or a group along the row."""
    if format.group is None:
        return 0
    if format.group == "tensor":
        return weight.shape[0] if weight.experts else 1
    d_in = weight.shape[-1]
    rows = weight.numel // d_in
    return rows if format.group == "channel" else rows * -(-d_in // format.group)
