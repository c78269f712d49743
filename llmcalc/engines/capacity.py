"""How much memory does a GPU offer? What torch or the driver reports, not what the box says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmcalc.errors import InvalidFileError
from llmcalc.formula import Step, is_recording, record
from llmcalc.spec.gpu import GpuSpec

Witness = Literal["torch", "driver", "box"]

WORDS: dict[Witness, str] = {
    "torch": "as torch reports it",
    "driver": "as the driver reports it",
    "box": "as marketed, decimal GB; no driver figure known",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Bytes of one device, and who says so."""

    bytes: int
    witness: Witness
    shared: bool
    """Whether the processor needs some of it too."""

    @property
    def basis(self) -> str:
        """Who says so, in words."""
        return WORDS[self.witness] + (", shared with the processor" if self.shared else "")


def capacity(gpu: GpuSpec) -> Capacity:
    """The memory to plan on: torch's total, else the driver's, else the marketed decimal gigabytes.

    Raises InvalidFileError for a spec without any memory size.
    """
    memory = gpu.memory
    readings: tuple[tuple[Witness, str, float | None, int, str], ...] = (
        ("torch", "torch_gib", memory.torch_gib, 2**30, "1024 · 1024 · 1024"),
        ("driver", "reported_mib", memory.reported_mib, 2**20, "1024 · 1024"),
        ("box", "marketed_gb", memory.marketed_gb, 10**9, "1000 · 1000 · 1000"),
    )
    for witness, name, value, unit, factor in readings:
        if value:
            size = int(value * unit)
            if is_recording():
                record(_step(gpu, size, f"int({name} · {factor})", {name: value}))
            return Capacity(bytes=size, witness=witness, shared=memory.unified)
    raise InvalidFileError(f"{gpu.name} has no memory size", hint="give memory.reported_mib")


def _step(gpu: GpuSpec, size: int, text: str, values: dict[str, float]) -> Step:
    """How the bytes follow from what the source says, in the source's unit."""
    source = gpu.sources.get("memory_reported", gpu.sources.get("memory", ""))
    plain = {name: int(value) if value == int(value) else value for name, value in values.items()}
    return Step(
        name="capacity",
        text=text,
        values=plain,
        result=size,
        unit="bytes",
        basis="published",
        source=source,
    )
