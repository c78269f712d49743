"""Rotary positions: pairs of dimensions turned by an angle that grows with the position."""

from __future__ import annotations

import torch
from torch import Tensor


def rotated(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """X of [b, h, s, d] with its first dimensions turned; the rest passes."""
    cos, sin = rotation
    dim = cos.shape[-1]
    turned, passed = x[..., :dim], x[..., dim:]
    turned = turned * cos + _half_turn(turned) * sin
    return turned if dim == x.shape[-1] else torch.cat((turned, passed), dim=-1)


def deinterleaved(x: Tensor) -> Tensor:
    """Pairs that stand side by side moved to the two halves, where `rotated` wants them."""
    *outer, dim = x.shape
    return x.view(*outer, dim // 2, 2).transpose(-1, -2).reshape(*outer, dim)


def _half_turn(x: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)
