"""Random numbers to compute on, in buffers that no cache holds from one call to the next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Generic, TypeVar

import torch
from torch import Tensor

from llmcalc.spec.measurement import Dtype

T = TypeVar("T")

TIMES_CACHE = 4
"""Buffers that take turns are together at least so many times as large as the last cache."""
_BLOCK = 2**22
DTYPES: dict[Dtype, torch.dtype] = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "int8": torch.int8,
    "fp8": torch.float8_e4m3fn,
}


def noise(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Random numbers, never zeros: hardware is faster and cooler on those.

    A block of four million is repeated, since drawing each number would take longer than the bench.
    """
    whole = torch.empty(shape, dtype=dtype, device=device)
    fill(whole)
    return whole


def fill(tensor: Tensor, scale: float = 1.0) -> None:
    """Overwrite a contiguous tensor with random numbers of mean 0 and deviation `scale`."""
    flat = tensor.view(-1)
    count = min(_BLOCK, flat.numel())
    drawn = torch.randn(count, device=tensor.device) * scale
    if tensor.dtype == torch.int8:
        drawn = (drawn * 40).clamp(-127, 127)
    block = drawn.to(tensor.dtype)
    for start in range(0, flat.numel(), _BLOCK):
        piece = flat[start : start + _BLOCK]
        piece.copy_(block[: piece.numel()])


def copies(bytes: int, cache: int, room: int) -> int:
    """How many buffers of that size take turns, at least two; `room` bounds them all."""
    wanted = max(2, -(-TIMES_CACHE * cache // bytes))
    return max(2, min(wanted, room // bytes))


class Turns(Generic[T]):
    """Things that take turns for ever."""

    def __init__(self, things: Sequence[T]) -> None:
        self._turns = cycle(things)

    def __call__(self) -> T:
        """The next one."""
        return next(self._turns)
