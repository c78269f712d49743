"""What mixers of fixed memory share: a short convolution, a gated norm, a matrix that remembers."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812  the usual name
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from llmcalc.twin.norms import RmsNorm


class CausalConvolution(nn.Module):
    """Each channel over its last `kernel` inputs, then a SiLU."""

    def __init__(self, channels: int, kernel: int, *, bias: bool) -> None:
        super().__init__()
        self.kernel = kernel
        self.conv = nn.Conv1d(channels, channels, kernel, groups=channels, bias=bias)

    def forward(self, x: Tensor, past: Tensor | None) -> tuple[Tensor, Tensor]:
        """[b, s, c] and the kernel - 1 inputs before it to the output and the last inputs."""
        before = x.new_zeros(x.shape[0], self.kernel - 1, x.shape[2]) if past is None else past
        inputs = torch.cat((before, x), dim=1)
        out = F.silu(self.conv(inputs.transpose(1, 2))).transpose(1, 2)
        return out, inputs[:, inputs.shape[1] - self.kernel + 1 :]


class GatedNorm(nn.Module):
    """RMS norm of x · silu(gate), or the product alone."""

    def __init__(self, size: int, *, normed: bool = True) -> None:
        super().__init__()
        self.norm = RmsNorm(size) if normed else nn.Identity()

    def forward(self, x: Tensor, gate: Tensor) -> Tensor:
        """Both of one shape, normed over the last axis."""
        normed: Tensor = self.norm(x * F.silu(gate))
        return normed


Scan = Callable[..., tuple[Tensor, Tensor]]


def scanned(scan: Scan, *inputs: Tensor | None) -> tuple[Tensor, Tensor]:
    """Outputs and last state; in training only the inputs are kept.

    The states are computed again in the backward pass, as the fused kernels of these mixers do.
    """
    if not torch.is_grad_enabled():
        return scan(*inputs)
    out: tuple[Tensor, Tensor] = checkpoint(
        scan, *inputs, use_reentrant=True, preserve_rng_state=False
    )
    return out


def outer(rows: Tensor, columns: Tensor) -> Tensor:
    """[…, m] and […, n] to […, m, n]."""
    return torch.matmul(rows.unsqueeze(-1), columns.unsqueeze(-2))


def read(state: Tensor, columns: Tensor) -> Tensor:
    """[…, m, n] times […, n]: […, m]."""
    return torch.matmul(state, columns.unsqueeze(-1)).squeeze(-1)
