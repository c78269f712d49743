"""Norms and gated activations as one kernel each, as Megatron, TransformerEngine and Liger do.

A fused kernel keeps its inputs (and a norm the scale of each row) and computes the rest again, so
autograd saves exactly that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from llmcalc.twin.setting import EPSILON

Activate = Callable[[Tensor], Tensor]


class FusedRms(torch.autograd.Function):
    """x / √(mean x² + ε) · w; the input and one float32 scale a row are kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        """[…, d] in the dtype of x."""
        wide = x.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPSILON)
        ctx.save_for_backward(x, weight, scale)
        return weight * (wide * scale).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor | None]:
        """Gradients of x and of the weight."""
        (grad,) = grads
        x, weight, scale = ctx.saved_tensors
        normed = x.float() * scale
        wide = grad.float() * weight.float()
        dx = scale * (wide - normed * (wide * normed).mean(-1, keepdim=True))
        over = tuple(range(grad.dim() - 1))
        dw = (grad.float() * normed).sum(over).to(weight.dtype) if ctx.needs_input_grad[1] else None
        return dx.to(x.dtype), dw


class FusedGate(torch.autograd.Function):
    """act(gate) ⊙ up; both factors are kept."""

    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor, act: Activate) -> Tensor:
        """Three tensors of one shape."""
        ctx.save_for_backward(gate, up)
        ctx.act = act
        return act(gate) * up

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        """Gradients of both factors, the activation computed again."""
        (grad,) = grads
        gate, up = ctx.saved_tensors
        with torch.enable_grad():
            again = gate.detach().requires_grad_()
            active = ctx.act(again)
        (d_gate,) = torch.autograd.grad(active, again, grad * up)
        return d_gate, grad * active.detach(), None


def fuse(module: nn.Module) -> None:
    """Let every part of a module that has a fused kernel run it."""
    for part in module.modules():
        if hasattr(part, "fused"):
            part.fused = True  # type: ignore[assignment]
