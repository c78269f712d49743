"""A saved measurement as a GPU of the catalog: its memory and its peaks."""

from __future__ import annotations

from llmcalc.spec.gpu import GpuCompute, GpuMemory, GpuSpec
from llmcalc.spec.measurement import Measurement

VENDOR = "measured"


def spec_of(measured: Measurement) -> GpuSpec:
    """What questions about memory need, and that its rates were measured."""
    source = f"llmcalc bench on {measured.device}, {measured.date}"
    best = max((one.tflop_s for one in measured.matmuls if one.dtype != "int8"), default=None)
    rate = measured.peak_gb_s or measured.read_gb_s or measured.triad_gb_s or measured.copy_gb_s
    return GpuSpec(
        name=measured.name,
        title=f"{measured.device}, as measured",
        vendor=VENDOR,
        kind="cpu" if measured.kind == "cpu" else "gpu",
        memory=GpuMemory(
            torch_gib=measured.memory_bytes / 2**30 if measured.memory_bytes else None,
            bandwidth_gb_s=rate,
            unified=measured.kind in {"cpu", "mps"},
        ),
        compute=GpuCompute(bf16=best),
        sources={"memory": source, "compute": source},
    )
