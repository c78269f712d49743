"""How much memory does a GPU offer? What torch or the driver reports, not what the box says."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.errors import InvalidFileError
from llmcalc.spec.gpu import GpuSpec
from llmcalc.units import GIB, MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Bytes of one device and who says so."""

    bytes: int
    basis: str


def capacity(gpu: GpuSpec) -> Capacity:
    """The memory to plan on: torch's total, else the driver's, else the marketed decimal gigabytes.

    Raises InvalidFileError for a spec without any memory size.
    """
    memory = gpu.memory
    shared = ", shared with the processor" if memory.unified else ""
    if memory.torch_gib:
        return Capacity(bytes=int(memory.torch_gib * GIB), basis=f"as torch reports it{shared}")
    if memory.reported_mib:
        return Capacity(
            bytes=int(memory.reported_mib * MIB), basis=f"as the driver reports it{shared}"
        )
    if memory.marketed_gb:
        marketed = int(memory.marketed_gb * 10**9)
        return Capacity(
            bytes=marketed, basis=f"as marketed, decimal GB; no driver figure known{shared}"
        )
    raise InvalidFileError(f"GPU {gpu.name} has no memory size", hint="give memory.reported_mib")
