"""What every module of the twin needs to know of the model around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from llmcalc.spec.card import Norm

Kernel = Literal["eager", "sdpa", "fused", "grouped"]

EPSILON = 1e-6
ROPE_THETA = 10_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Width and norm of the model, and how attention is computed."""

    hidden_size: int
    norm: Norm
    kernel: Kernel = "sdpa"
    """`eager` keeps the scores, `sdpa` runs flash attention inside otherwise plain modules.

    `fused` has kernels for norms and gated activations too (fused.py).
    `grouped` decodes with two plain products and does not repeat keys for their query heads.
    """
    causal: bool = True


@dataclass(slots=True, kw_only=True)
class Pass:
    """One forward pass: where its tokens stand, what is remembered and shared."""

    positions: Tensor
    """[s], the place of each new token in its sequence."""
    memory: dict[int, Any] | None = None
    """What each mixer remembers, by its number; None: nothing is remembered."""
    encoded: Tensor | None = None
    """[b, s_enc, d], what cross-attention looks at."""
    latest: dict[tuple[int, int, int | None], tuple[Tensor, Tensor]] = field(default_factory=dict)
    """Keys and values that a layer of that shape used last, for layers that read another's."""
    rotations: dict[tuple[int, torch.dtype], tuple[Tensor, Tensor]] = field(default_factory=dict)

    def rotation(self, dim: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Cosine and sine of [s, dim], made once for all layers."""
        key = (dim, dtype)
        if key not in self.rotations:
            exponent = torch.arange(0, dim, 2, device=self.positions.device).float() / dim
            angles = self.positions.float()[:, None] / ROPE_THETA**exponent
            doubled = torch.cat((angles, angles), dim=-1)
            self.rotations[key] = doubled.cos().to(dtype), doubled.sin().to(dtype)
        return self.rotations[key]
