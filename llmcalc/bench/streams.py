"""Memory bandwidth: a sum that reads, a copy, a triad, over arrays larger than any cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from llmcalc.bench.buffers import TIMES_CACHE, Turns, noise
from llmcalc.bench.device import Device
from llmcalc.bench.judge import Judge
from llmcalc.bench.rates import gb_s
from llmcalc.formula import about
from llmcalc.spec.measurement import StreamRate

Operation = Literal["read", "copy", "triad"]
MOVED: dict[Operation, int] = {"read": 1, "copy": 2, "triad": 3}
"""Arrays that a sweep moves, as STREAM counts them: what a write fetches first is not counted
(https://www.cs.virginia.edu/stream/ref.html)."""
_ARRAYS = 3


def sizes(device: Device, *, quick: bool) -> tuple[int, ...]:
    """Bytes of one array: several times the last cache, as far as there is room for three."""
    room = device.free // (2 * _ARRAYS)
    wanted = [TIMES_CACHE * device.cache * times for times in ((1, 2) if quick else (1, 2, 4, 8))]
    fitting = [one for one in wanted if one <= room]
    return tuple(fitting or [max(2**22, room // 2**20 * 2**20)])


def arrays(device: Device, bytes: int) -> tuple[Tensor, ...]:
    """Three arrays of random numbers."""
    return tuple(noise((bytes // 4,), torch.float32, device.torch) for _ in range(_ARRAYS))


def stream(operation: Operation, held: tuple[Tensor, ...], judge: Judge) -> StreamRate:
    """One operation on arrays. Raises Refused."""
    bytes = held[0].numel() * held[0].element_size()
    figure = f"{operation} of {bytes // 2**20} MiB"
    samples = judge.timed(figure, _call(operation, held))
    with about(f"{operation}_{bytes // 2**20}_MiB"):
        rate = gb_s(bytes=MOVED[operation] * bytes, seconds=samples.median)
    return StreamRate(
        operation=operation, bytes=bytes, gb_s=judge.possible(figure, rate),
        seconds=samples.median, seconds_p10=samples.p10, seconds_p90=samples.p90,
    )  # fmt: skip


def _call(operation: Operation, held: tuple[Tensor, ...]) -> Callable[[], object]:
    a, b, c = held
    match operation:
        case "read":
            turns = Turns(held)
            return lambda: turns().sum()
        case "copy":
            pairs = Turns([(c, a), (c, b)])
            return lambda: _copied(*pairs())
        case _:
            return partial(torch.add, a, b, alpha=3.0, out=c)


def _copied(to: Tensor, source: Tensor) -> None:
    to.copy_(source)


def headline(rates: Sequence[StreamRate], operation: Operation) -> float | None:
    """The bandwidth of an operation over the largest arrays that gave one."""
    found = [one for one in rates if one.operation == operation]
    return max(found, key=lambda one: one.bytes).gb_s if found else None
