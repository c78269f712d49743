"""What torch itself counts: FLOPs of a call, bytes that autograd keeps, elements of a memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

Shape = tuple[int, ...]


def _grouped_mm(a: Shape, b: Shape, *_: Any, **__: Any) -> int:
    """Rows of each group times its matrix, or the two gradients of that; torch counts nothing."""
    if len(a) == 2 and len(b) == 3:  # noqa: PLR2004  [t, d_in] · [E, d_in, d_out]
        return 2 * prod(a) * b[2]
    if len(a) == 2:  # noqa: PLR2004  [d_in, t] · [t, d_out], the weight's gradient
        return 2 * prod(a) * b[1]
    return 2 * a[1] * prod(b)


def _convolution_backward(grad: Shape, _: Shape, weight: Shape, *__: Any, **___: Any) -> int:
    """Both gradients of a convolution within groups; torch multiplies by all channels."""
    return 2 * 2 * prod(grad) * prod(weight[1:])


CORRECTED: dict[Any, Any] = {
    torch.ops.aten._grouped_mm: _grouped_mm,  # noqa: SLF001  its only name
    torch.ops.aten.convolution_backward: _convolution_backward,
}
"""Operators that torch 2.13 does not count, or counts wrong."""


def flops(call: Callable[[], object]) -> int:
    """FLOPs of everything that a call computes, as torch's FlopCounterMode sees it."""
    with FlopCounterMode(display=False, custom_mapping=CORRECTED) as counter:
        call()
    return int(counter.get_total_flops())


def kept(call: Callable[[], object], apart: Iterable[Tensor]) -> int:
    """Bytes of every storage that autograd saves in a call, once each, `apart` from some."""
    known = {_storage(one) for one in apart}
    alive: list[Tensor] = []
    size = 0

    def pack(tensor: Tensor) -> Tensor:
        nonlocal size
        if _storage(tensor) not in known:
            known.add(_storage(tensor))
            alive.append(tensor)  # a freed storage would lend its identity to another
            size += tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = call()
    del result
    return size


def remembered(memory: dict[int, Any]) -> Iterator[Tensor]:
    """Every tensor that the mixers of a pass remember."""
    for held in memory.values():
        yield from held if isinstance(held, tuple) else (held,)


def parameters(module: nn.Module) -> int:
    """Learned numbers of a module, shared ones once."""
    return sum(one.numel() for one in module.parameters())


def buffers(module: nn.Module) -> int:
    """Numbers that a module stores without learning them."""
    return sum(one.numel() for one in module.buffers())


def _storage(tensor: Tensor) -> int:
    identity: int = tensor.untyped_storage()._cdata  # noqa: SLF001  without data it has no address
    return identity
