"""What does a training step keep? Bytes of the tensors that autograd saves, layer by layer."""

from __future__ import annotations

from llmcalc.blueprint.keeping.tensor import TRAINED, Frozen, Kept, Kernel
from llmcalc.blueprint.operations import Ledger, Section
from llmcalc.engines.workload import Workload
from llmcalc.formula import formula


@formula("elements · bytes · count", source="each saved tensor once", unit="bytes")
def kept_bytes(*, elements: int, bytes: int, count: int) -> int:
    """Bytes of one saved tensor over so many tokens, pairs or layers."""
    return elements * bytes * count


def saved(ledger: Ledger, workload: Workload, kernel: Kernel, frozen: Frozen = TRAINED) -> int:
    """Bytes kept between forward and backward by all layers, embedding and head; without the loss.

    The ledger must have been lowered for training. Tensors that only `frozen` weights need are not.
    """
    return sum(
        section.times * of_section(section, workload, kernel, frozen) for section in ledger.sections
    )


def of_section(
    section: Section, workload: Workload, kernel: Kernel, frozen: Frozen = TRAINED
) -> int:
    """Bytes that one occurrence of a section keeps."""
    return sum(
        kept_bytes(elements=one.elements, bytes=one.bytes, count=count(one, section, workload))
        for one in section.kept
        if one.by(kernel, frozen)
    )


def checkpointed(ledger: Ledger, workload: Workload) -> int:
    """Bytes kept when every layer is computed again: its input in 16 bits; towers see no text."""
    return sum(
        section.times
        * kept_bytes(elements=section.width, bytes=2, count=workload.of(section.stream))
        for section in ledger.sections
        if section.kind in {"layer", "beside"}
    )


def count(one: Kept, section: Section, workload: Workload) -> int:
    """How often a tensor's elements occur."""
    b, s, s_enc = workload.batch, workload.query, workload.encoder
    if section.stream == "encoder":
        s = s_enc
    return {
        "token": b * s,
        "encoded": b * s_enc,
        "pair": b * s * s,
        "cross pair": b * s * s_enc,
        "sequence": b,
        "layer": 1,
        "position": s,
        "square": s * s,
    }[one.per]
