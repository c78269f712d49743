"""A GPU spec: what one accelerator has and reaches, each number with its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmcalc.spec.limits import Alias, Amount, Bool, Line, Name, Width, Year


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuMemory:
    """Memory of one device. Plan on what the driver or torch reports, not on the marketed size."""

    marketed_gb: Amount | None = None
    """As printed on the box; NVIDIA means GiB more often than not."""
    reported_mib: Amount | None = None
    """What the driver reports in total (nvidia-smi, rocm-smi)."""
    torch_gib: Amount | None = None
    """What torch.cuda.mem_get_info reports in total."""
    type: Line | None = None
    bandwidth_gb_s: Amount | None = None
    """Peak, decimal gigabytes a second."""
    l2_mb: Amount | None = None
    unified: Bool = False
    """Shared with the processor, which needs some of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuCompute:
    """Dense peak rates, matrix units, FP32 accumulate: TFLOP/s, and TOP/s for int8."""

    fp32: Amount | None = None
    tf32: Amount | None = None
    fp16: Amount | None = None
    bf16: Amount | None = None
    fp8: Amount | None = None
    int8: Amount | None = None
    fp4: Amount | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuLink:
    """The fast link between devices of one node or rack."""

    name: Line
    gb_s_per_direction: Amount | None = None
    max_gpus: Width | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What one device costs an hour, where and when."""

    provider: Line
    usd_per_hour: Amount
    date: Line
    source: Line
    note: Line | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSpec:
    """One accelerator."""

    name: Name
    title: Line
    aliases: tuple[Alias, ...] = ()
    vendor: Line
    architecture: Line | None = None
    kind: Literal["gpu", "tpu", "npu", "apu", "cpu"] = "gpu"
    form_factor: Line | None = None
    status: Line = "shipping"
    released: Year | None = None
    compute_capability: Line | None = None
    memory: GpuMemory
    compute: GpuCompute = GpuCompute()
    link: GpuLink | None = None
    pcie: Line | None = None
    tdp_w: Amount | None = None
    prices: tuple[Price, ...] = ()
    sources: dict[Line, Line]
    """Group of numbers (memory, compute, link, price) to where they were read."""
    derived: Line | None = None
    """Which numbers follow from others, and how."""
    disputed: Line | None = None
    """Which numbers sources disagree on."""
    notes: Line | None = None
