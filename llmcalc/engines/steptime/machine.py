"""From the spec of a GPU to what a training step asks of it."""

from __future__ import annotations

from llmcalc.engines.device import GB, TERA, applies, host_link, link, peak_compute
from llmcalc.engines.steptime.run import Machine
from llmcalc.errors import ImpossibleError
from llmcalc.spec.gpu import GpuSpec
from llmcalc.spec.utilisation import TrainingReach, Utilisation

WIDE_BITS = 16
NODE = 8
"""Devices of a node, where the link does not join more."""

NEAR_LINK, NEAR_PCIE, FAR = 3.4e-6, 5.7e-6, 14e-6
"""Seconds of one step of a ring by NVLink, PCIe and network (NCCL 2.30, src/graph/tuning.cc,
hwLatencies, protocol Simple)."""

HOST_GB_S = 109.0
"""Of a host's memory that Adam there gets through: 10 billion weights of 28 bytes each in 2.57 s
on the two processors of a DGX-2 (ZeRO-Offload, arXiv:2101.06840, table 4)."""


def reach_of(every: Utilisation, gpu: GpuSpec) -> TrainingReach:
    """The first class that the GPU belongs to; the last one is for all others."""
    found = (one for one in every.classes if applies(one.devices, gpu))
    return next(found, every.classes[-1])


def node_of(gpu: GpuSpec) -> int:
    """Devices of a node: a usual one, or as many as the link joins."""
    return max(NODE, linked(gpu))


def linked(gpu: GpuSpec) -> int:
    """Devices that the link joins: two by a bridge, all of a node by switches."""
    return (gpu.link.max_gpus if gpu.link else None) or NODE


def machine(
    gpu: GpuSpec, reach: TrainingReach, *, bits: int = 16, network_gb_s: float | None = None
) -> Machine:
    """The peaks of a GPU, in 16 bits where it has no fewer in floating point.

    Float32 products take no TF32, as torch does unless it is told to (allow_tf32). Raises
    ImpossibleError where its spec lacks a rate.
    """
    compute, bandwidth = _rate(gpu, bits), gpu.memory.bandwidth_gb_s
    if compute is None or bandwidth is None:
        what = "rate" if compute is None else "bandwidth"
        raise ImpossibleError(f"the spec of {gpu.name} has no {what} to compute with")
    return Machine(
        name=gpu.name, compute=compute, attention=_rate(gpu, max(bits, WIDE_BITS)) or compute,
        bandwidth=bandwidth * GB, link=link(gpu, 2)[0],
        node=node_of(gpu), linked=linked(gpu), bus=link(gpu, linked(gpu) + 1)[0],
        network=(network_gb_s or reach.network_gb_s) * GB,
        host_link=host_link(gpu), host=HOST_GB_S * GB,
        near=NEAR_LINK if gpu.link else NEAR_PCIE, far=FAR,
    )  # fmt: skip


def _rate(gpu: GpuSpec, bits: int) -> float | None:
    """FLOP/s of products of numbers of so many bits."""
    if bits > WIDE_BITS:
        return gpu.compute.fp32 * TERA if gpu.compute.fp32 else None
    return peak_compute(gpu, bits if gpu.compute.fp8 else WIDE_BITS)
