"""Rules between the fields of a GPU spec."""

from __future__ import annotations

from collections.abc import Iterator

from llmcalc.catalog.walk import Broken
from llmcalc.spec.gpu import GpuSpec


def memory_is_known(spec: GpuSpec) -> Iterator[Broken]:
    """A device without any memory size cannot answer what fits."""
    memory = spec.memory
    if not (memory.marketed_gb or memory.reported_mib or memory.torch_gib):
        yield ("memory",), "gives no size", "say marketed_gb, reported_mib or torch_gib"


def memory_agrees(spec: GpuSpec) -> Iterator[Broken]:
    """What driver and torch report lies near the marketed size, else a unit is wrong."""
    memory = spec.memory
    if memory.marketed_gb is None:
        return
    for key, gib in (
        ("reported_mib", (memory.reported_mib or 0) / 1024),
        ("torch_gib", memory.torch_gib or 0),
    ):
        if gib and not memory.marketed_gb / 2 <= gib <= memory.marketed_gb * 1.1:
            yield (
                ("memory", key),
                f"is {gib:.4g} GiB, which cannot be of a device sold with {memory.marketed_gb:g}",
                "reported_mib is in MiB, torch_gib in GiB, marketed_gb as on the box",
            )
