"""From the spec of a GPU to what a training step asks of it."""

from __future__ import annotations

from llmcalc.engines.device import GB, applies, link, peak_compute
from llmcalc.engines.steptime.run import Machine
from llmcalc.errors import ImpossibleError
from llmcalc.spec.gpu import GpuSpec
from llmcalc.spec.utilisation import TrainingReach, Utilisation

WIDE_BITS = 16
NODE = 8
"""Devices of a node, where the spec does not say how far the link reaches."""

NEAR_LINK, NEAR_PCIE, FAR = 3.4e-6, 5.7e-6, 14e-6
"""Seconds of one step of a ring by NVLink, PCIe and network (NCCL 2.30, src/graph/tuning.cc,
hwLatencies, protocol Simple)."""


def reach_of(every: Utilisation, gpu: GpuSpec) -> TrainingReach:
    """The first class that the GPU belongs to; the last one is for all others."""
    found = (one for one in every.classes if applies(one.devices, gpu))
    return next(found, every.classes[-1])


def machine(
    gpu: GpuSpec, reach: TrainingReach, *, bits: int = 16, network_gb_s: float | None = None
) -> Machine:
    """The peaks of a GPU, in 16 bits where it has no fewer in floating point.

    Raises ImpossibleError where its spec lacks one.
    """
    narrow = bits if gpu.compute.fp8 else max(bits, WIDE_BITS)
    compute, bandwidth = peak_compute(gpu, narrow), gpu.memory.bandwidth_gb_s
    if compute is None or bandwidth is None:
        what = "rate" if compute is None else "bandwidth"
        raise ImpossibleError(f"the spec of {gpu.name} has no {what} to compute with")
    return Machine(
        name=gpu.name, compute=compute, attention=peak_compute(gpu, WIDE_BITS) or compute,
        bandwidth=bandwidth * GB, link=link(gpu, 2)[0],
        node=(gpu.link.max_gpus if gpu.link else None) or NODE,
        network=(network_gb_s or reach.network_gb_s) * GB,
        near=NEAR_LINK if gpu.link else NEAR_PCIE, far=FAR,
    )  # fmt: skip
