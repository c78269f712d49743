"""How long does a step take? The slower of reading and computing, group by group, and what waits.

time = Σ groups max(bytes / (bandwidth · reached), FLOPs / (peak · reached)) + cache
     + layers · t_layer + t_step + exchanges between ranks

Reading and computing of one group overlap; groups, attention and exchanges follow each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from llmcalc.engines.device import Device
from llmcalc.engines.work import Product, Work
from llmcalc.formula import formula

Bound = Literal["memory", "compute", "latency", "network"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """Seconds of one step, by what they go to."""

    memory: float
    """Groups that wait for their weights, and the cache."""
    compute: float
    """Groups that wait for the matrix units."""
    latency: float
    network: float
    bytes: int
    flops: int
    bandwidth_floor: float
    """All weights and the cache once at the peak bandwidth."""
    compute_floor: float
    """All FLOPs at the peak rate."""

    @property
    def seconds(self) -> float:
        """All of the step."""
        return self.memory + self.compute + self.latency + self.network

    @property
    def bound(self) -> Bound:
        """What most of the time goes to."""
        parts: dict[Bound, float] = {
            "memory": self.memory,
            "compute": self.compute,
            "latency": self.latency,
            "network": self.network,
        }
        return max(parts, key=parts.__getitem__)


@formula("bytes / rate", source="all bytes that a step must read, once", unit="seconds")
def floor_seconds(*, bytes: float, rate: float) -> float:
    """Seconds at a peak rate."""
    return bytes / rate


def step_time(work: Work, device: Device, *, ranks: int = 1, flash: bool = True) -> StepTime:
    """The time of one step of one of `ranks` tensor ranks."""
    reach = device.reach
    memory = compute = 0.0
    rate = device.computing(work.tokens)
    for one in work.products:
        reading, computing = _read(one, device), one.flops / rate
        memory += reading if reading >= computing else 0.0
        compute += computing if computing > reading else 0.0
    reached = reach.cache if flash or reach.cache_plain is None else reach.cache_plain
    cache = work.cache_bytes / (device.bandwidth * reached)
    attention = work.attention_flops / rate
    memory += cache if cache >= attention else 0.0
    compute += attention if attention > cache else 0.0
    read = sum(one.bytes for one in work.products) + work.cache_bytes
    return StepTime(
        memory=memory, compute=compute,
        latency=work.layers * reach.layer_seconds + reach.step_seconds,
        network=_exchanged(work, device, ranks),
        bytes=read, flops=work.flops,
        bandwidth_floor=floor_seconds(
            bytes=work.resident + work.cache_bytes, rate=device.bandwidth
        ),
        compute_floor=floor_seconds(bytes=work.flops, rate=device.compute),
    )  # fmt: skip


def together(steps: Sequence[StepTime]) -> StepTime:
    """Steps that follow each other, as the stages of a pipeline do for one token."""
    return StepTime(
        memory=sum(one.memory for one in steps),
        compute=sum(one.compute for one in steps),
        latency=sum(one.latency for one in steps),
        network=sum(one.network for one in steps),
        bytes=sum(one.bytes for one in steps),
        flops=sum(one.flops for one in steps),
        bandwidth_floor=sum(one.bandwidth_floor for one in steps),
        compute_floor=sum(one.compute_floor for one in steps),
    )


def scaled(step: StepTime, share: float) -> StepTime:
    """The same work in a share of the time, as where several stages are busy at once."""
    return replace(
        step, memory=share * step.memory, compute=share * step.compute,
        latency=share * step.latency, network=share * step.network,
        bandwidth_floor=share * step.bandwidth_floor, compute_floor=share * step.compute_floor,
    )  # fmt: skip


def _read(product: Product, device: Device) -> float:
    reach = device.reach
    reached = reach.experts or reach.weights if product.experts else reach.weights
    return product.bytes / (device.bandwidth * reached)


def _exchanged(work: Work, device: Device, ranks: int) -> float:
    """Seconds of all-reduces among tensor ranks, in a ring, and of tokens' ways to experts."""
    routed = work.routed / device.link if work.routed else 0.0
    if ranks == 1:
        return routed
    share = 2 * (ranks - 1) / ranks
    one = device.link_seconds + share * work.exchanged / device.link
    return work.exchanges * one + routed
