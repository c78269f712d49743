"""What a device reaches: peaks of its spec times what an engine reaches of them, or as measured."""

from __future__ import annotations

import re
from dataclasses import dataclass

from llmcalc.spec.efficiency import Devices, Efficiency, Reach
from llmcalc.spec.gpu import GpuSpec

GB = 10**9
TERA = 10**12
PCIE_GB_S = {3: 0.985, 4: 1.97, 5: 3.94, 6: 7.56}
"""One lane and direction, after encoding (PCI Express base specifications 3.0 to 6.0)."""
PCIE_REACHED = 0.8
"""Of that, for copies of megabytes; public bandwidth tests show 0.75 to 0.85."""


Curve = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Rates of one device, in bytes and FLOP a second."""

    name: str
    bandwidth: float
    """Peak."""
    compute: float
    """Peak, in the type that products are computed in."""
    reach: Reach
    link: float
    """Between devices, one direction."""
    link_seconds: float
    """Of one exchange, however small."""
    watts: float | None = None
    curve: Curve = ()
    """FLOP/s by tokens, where they were measured; the fewest tokens first."""

    def computing(self, tokens: int) -> float:
        """FLOP/s of products for so many tokens at once."""
        if not self.curve:
            return self.compute * self.reach.compute
        below = [point for point in self.curve if point[0] <= tokens]
        above = [point for point in self.curve if point[0] >= tokens]
        if not (below and above):
            return (below[-1] if below else above[0])[1]
        (few, slow), (many, fast) = below[-1], above[0]
        if few == many:
            return slow
        # Times grow in a straight line with tokens, so FLOP/s are interpolated as tokens / time.
        start, end = few / slow, many / fast
        return tokens / (start + (end - start) * (tokens - few) / (many - few))


def chosen(efficiency: Efficiency, gpu: GpuSpec) -> Reach:
    """The first class of devices that the GPU belongs to; the last one is for all others."""
    for one in efficiency.classes:
        if applies(one.devices, gpu):
            return one
    return efficiency.classes[-1]


def applies(devices: Devices, gpu: GpuSpec) -> bool:
    """Whether a device belongs to a class."""
    memory = gpu.memory.type or ""
    return (
        (not devices.names or gpu.name in devices.names)
        and (not devices.starts or gpu.name.startswith(devices.starts))
        and (not devices.vendors or gpu.vendor in devices.vendors)
        and (not devices.memory or any(memory.startswith(one) for one in devices.memory))
        and (not devices.architectures or (gpu.architecture or "") in devices.architectures)
    )


def peak_compute(gpu: GpuSpec, bits: float) -> float | None:
    """FLOP/s of matrix units for operands of so many bits; None where the spec has no rate."""
    rates = gpu.compute
    for narrow, rate in ((4, rates.fp4), (8, rates.fp8 or rates.int8)):
        if bits <= narrow and rate:
            return rate * TERA
    rate = rates.bf16 or rates.fp16 or rates.tf32 or rates.fp32
    return rate * TERA if rate else None


def link(gpu: GpuSpec, ranks: int) -> tuple[float, float]:
    """Bytes a second of the link between so many devices, and seconds of its shortest exchange.

    The fast link as far as it reaches, else PCIe. The latencies are those of small all-reduces of
    NCCL and of engines' own kernels over NVLink and PCIe.
    """
    fast = gpu.link
    if fast and fast.gb_s_per_direction and (fast.max_gpus is None or ranks <= fast.max_gpus):
        return fast.gb_s_per_direction * GB, 8e-6
    return _pcie(gpu.pcie or "") * GB, 25e-6


def host_link(gpu: GpuSpec) -> float:
    """Bytes a second between a device and its host, one direction: NVLink-C2C, or else PCIe."""
    said = gpu.pcie or ""
    fast = re.search(r"C2C (\d+)/dir", said)
    return (float(fast[1]) if fast else _pcie(said)) * GB


def _pcie(text: str) -> float:
    """GB/s of a slot as `4.0 x16`; a common one where the spec says nothing."""
    match = re.match(r"(\d)(?:\.\d)?(?:\s*x(\d+))?", text)
    lanes = int(match[2] or 16) if match else 16
    return PCIE_GB_S.get(int(match[1]) if match else 4, 1.97) * lanes * PCIE_REACHED
