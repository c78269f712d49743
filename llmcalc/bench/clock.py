"""Time taken by calls on a device: events on CUDA, the host's clock around a wait elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from time import perf_counter

import torch

from llmcalc.bench import host
from llmcalc.bench.effort import Effort
from llmcalc.bench.samples import FEWEST, Samples, best, disturbance, doubt

Call = Callable[[], object]
WARM = 3
"""Calls before the first that counts: libraries load, choose kernels, allocate."""


def wait(device: torch.device) -> None:
    """Until the device has done all that it was told to."""
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def timed(call: Call, device: torch.device, effort: Effort) -> Samples:
    """Samples of a call, taken anew where they say nothing or others had the cores."""
    for _ in range(WARM):
        call()
    inner = max(1, ceil(effort.shortest / max(_once(call, device, 1), 1e-7)))
    inner = max(1, ceil(effort.shortest / max(_once(call, device, inner), 1e-9)))
    attempts = list[Samples]()
    for _ in range(effort.attempts):
        attempts.append(_sampled(call, device, effort, inner))
        if doubt(attempts[-1]) is None and disturbance(attempts[-1]) is None:
            break
    return best(attempts)


def _sampled(call: Call, device: torch.device, effort: Effort, inner: int) -> Samples:
    begun, before, seconds = perf_counter(), host.interruptions(), list[float]()
    while len(seconds) < effort.repeats:
        seconds.append(_once(call, device, inner))
        if len(seconds) >= FEWEST and perf_counter() - begun > effort.budget:
            break
    threads = torch.get_num_threads() if device.type == "cpu" else 1
    rate = (host.interruptions() - before) / (perf_counter() - begun) / threads
    return Samples(tuple(seconds), rate)


def _once(call: Call, device: torch.device, inner: int) -> float:
    """Seconds of one call, as the mean of `inner` in a row."""
    return (_by_events if device.type == "cuda" else _by_clock)(call, device, inner) / inner


def _by_clock(call: Call, device: torch.device, inner: int) -> float:
    wait(device)
    begun = perf_counter()
    for _ in range(inner):
        call()
    wait(device)
    return perf_counter() - begun


def _by_events(call: Call, device: torch.device, inner: int) -> float:
    """Between two events in the device's own stream, which the host's pauses do not reach."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    wait(device)
    start.record()
    for _ in range(inner):
        call()
    end.record()
    end.synchronize()
    milliseconds: float = start.elapsed_time(end)
    return milliseconds / 1e3
