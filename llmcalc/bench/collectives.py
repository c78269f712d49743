"""Collectives between the ranks that torchrun has started, by size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Literal

import torch
import torch.distributed as dist
from torch import Tensor

from llmcalc.bench.buffers import noise
from llmcalc.bench.clock import WARM, wait
from llmcalc.bench.device import Device
from llmcalc.bench.judge import Judge, Refused
from llmcalc.bench.rates import all_reduce_bus, gb_s, scattered_bus
from llmcalc.bench.samples import FEWEST, Samples, doubt
from llmcalc.errors import ImpossibleError
from llmcalc.formula import about
from llmcalc.spec.measurement import CollectiveRate

Operation = Literal["all_reduce", "all_gather", "all_to_all", "send_recv"]
OPERATIONS: tuple[Operation, ...] = ("all_reduce", "all_gather", "all_to_all", "send_recv")
QUICK = tuple(2**power for power in (16, 22, 26))
THOROUGH = tuple(2**power for power in range(12, 29, 2))
"""Bytes of the whole message."""

Tell = Callable[[str], None]


def collectives(judge: Judge, tell: Tell, *, quick: bool) -> tuple[CollectiveRate, ...]:
    """Every collective at every size; each rank must call it. Raises ImpossibleError for one."""
    device = judge.device
    backend = "nccl" if device.kind == "cuda" else "gloo"
    dist.init_process_group(backend, device_id=device.torch if backend == "nccl" else None)
    try:
        if dist.get_world_size() < 2:  # noqa: PLR2004  nobody to talk to
            raise ImpossibleError(
                "one rank has nobody to talk to", hint="torchrun --nproc-per-node 2 starts two"
            )
        return tuple(_all(judge, tell, QUICK if quick else THOROUGH))
    finally:
        dist.destroy_process_group()


def _all(judge: Judge, tell: Tell, sizes: tuple[int, ...]) -> Iterator[CollectiveRate]:
    for operation in OPERATIONS:
        for size in sizes:
            figure = f"{operation} of {size // 1024} KiB"
            tell(figure)
            found = judge.tried(figure, partial(_one, operation, size, judge))
            if found:
                yield found


def _one(operation: Operation, bytes: int, judge: Judge) -> CollectiveRate:
    ranks = dist.get_world_size()
    bytes = bytes // (4 * ranks) * 4 * ranks
    samples = _timed(_call(operation, bytes // 4, judge.device), judge)
    if operation == "send_recv":
        samples = Samples(tuple(one / 2 for one in samples.seconds))
    if why := doubt(samples):
        raise Refused(f"{operation} of {bytes // 1024} KiB", why)
    with about(f"{operation}_{bytes}"):
        algorithm = gb_s(bytes=bytes, seconds=samples.median)
        bus = _bus(operation, algorithm, ranks)
    return CollectiveRate(
        operation=operation, backend=dist.get_backend(), ranks=ranks, bytes=bytes,
        algorithm_gb_s=algorithm,
        bus_gb_s=bus, seconds=samples.median, seconds_p10=samples.p10, seconds_p90=samples.p90,
    )  # fmt: skip


def _bus(operation: str, algorithm: float, ranks: int) -> float:
    if operation == "all_reduce":
        return float(all_reduce_bus(algorithm=algorithm, ranks=ranks))
    if operation == "send_recv":
        return algorithm
    return float(scattered_bus(algorithm=algorithm, ranks=ranks))


def _call(operation: str, numbers: int, device: Device) -> Callable[[], object]:
    """A call that every rank makes at the same time."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    whole = noise((numbers,), torch.float32, device.torch)
    match operation:
        case "all_reduce":
            # the greatest, not the sum, so that numbers stay numbers however often it is taken
            return lambda: dist.all_reduce(whole, op=dist.ReduceOp.MAX)
        case "all_gather":
            share = noise((numbers // ranks,), torch.float32, device.torch)
            # under its new name where torch has it; the old one warns there
            gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
            return lambda: gather(whole, share)
        case "all_to_all":
            out = torch.empty_like(whole)
            return lambda: dist.all_to_all_single(out, whole)
        case _:
            return lambda: _there_and_back(whole, rank)


def _there_and_back(whole: Tensor, rank: int) -> None:
    """From rank 0 to rank 1 and back, two messages; the others wait."""
    if rank == 0:
        dist.send(whole, 1)
        dist.recv(whole, 1)
    elif rank == 1:
        dist.recv(whole, 0)
        dist.send(whole, 0)


def _timed(call: Callable[[], object], judge: Judge) -> Samples:
    """Samples of the slowest rank; all ranks take as many, as the first decides."""
    device, effort = judge.device, judge.effort
    for _ in range(WARM):
        call()
    inner = _agreed(max(1, int(effort.shortest / max(_once(call, device, 1), 1e-6))), device)
    for _ in range(effort.attempts):
        seconds = list[float]()
        begun = perf_counter()
        while len(seconds) < effort.repeats:
            seconds.append(_slowest(_once(call, device, inner), device))
            late = perf_counter() - begun > effort.budget and len(seconds) >= FEWEST
            if _agreed(int(late), device):
                break
        found = Samples(tuple(seconds))
        if doubt(found) is None:  # the same on all ranks, for they have the same numbers
            break
    return found


def _once(call: Callable[[], object], device: Device, inner: int) -> float:
    dist.barrier()
    wait(device.torch)
    begun = perf_counter()
    for _ in range(inner):
        call()
    wait(device.torch)
    return (perf_counter() - begun) / inner


def _slowest(seconds: float, device: Device) -> float:
    held = torch.tensor([seconds], dtype=torch.float64, device=device.torch)
    dist.all_reduce(held, op=dist.ReduceOp.MAX)
    return float(held.item())


def _agreed(number: int, device: Device) -> int:
    """The number that rank 0 has."""
    held = torch.tensor([number], device=device.torch)
    dist.broadcast(held, 0)
    return int(held.item())
