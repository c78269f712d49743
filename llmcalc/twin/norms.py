"""Norms, as the modules of transformers compute them: RMS in float32, LayerNorm by torch."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from llmcalc.spec.card import Norm
from llmcalc.twin.fused import FusedRms
from llmcalc.twin.setting import EPSILON


class RmsNorm(nn.Module):
    """x / √(mean x² + ε) · w."""

    fused = False

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        """Over the last axis, in float32, back in the dtype of x."""
        if self.fused:
            normed: Tensor = FusedRms.apply(x, self.weight)  # type: ignore[no-untyped-call]
            return normed
        wide = x.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPSILON)
        return self.weight * (wide * scale).to(x.dtype)


def norm(kind: Norm, size: int) -> nn.Module:
    """A norm over the last axis of `size` elements."""
    if kind == "rms":
        return RmsNorm(size)
    if kind == "none":
        return nn.LayerNorm(size, eps=EPSILON, elementwise_affine=False)
    return nn.LayerNorm(size, eps=EPSILON, bias=kind == "layer")
