"""State-space mixers, token by token: Mamba and Mamba-2."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  the usual name
from torch import Tensor, nn

from llmcalc.spec.recurrent import Mamba1, Mamba2
from llmcalc.twin.norms import RmsNorm
from llmcalc.twin.recurrence import CausalConvolution, GatedNorm, outer, read, scanned
from llmcalc.twin.setting import Pass, Setting


class Mamba1Twin(nn.Module):
    """One state of N numbers a channel, with a step size, B and C from the input."""

    def __init__(self, part: Mamba1, setting: Setting, number: int) -> None:
        super().__init__()
        d_i, states = part.intermediate_size, part.state_size
        self.part, self.number = part, number
        self.in_proj = nn.Linear(setting.hidden_size, 2 * d_i, bias=part.bias)
        self.conv = CausalConvolution(d_i, part.conv_kernel, bias=part.conv_bias)
        self.x_proj = nn.Linear(d_i, part.dt_rank + 2 * states, bias=False)
        self.dt_proj = nn.Linear(part.dt_rank, d_i)
        self.A_log = nn.Parameter(torch.zeros(d_i, states))
        self.D = nn.Parameter(torch.ones(d_i))
        self.out_proj = nn.Linear(d_i, setting.hidden_size, bias=part.bias)
        sizes = (part.dt_rank, states, states) if part.inner_norms else ()
        self.inner_norms = nn.ModuleList(RmsNorm(size) for size in sizes)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        """[b, s, d] to [b, s, d]."""
        x, gate = self.in_proj(x).chunk(2, dim=-1)
        conv_past, state = (run.memory or {}).get(self.number, (None, None))
        x, conv_past = self.conv(x, conv_past)
        step, into, out = self._selected(x)
        seen, state = scanned(_mamba1, x, step, into, out, self.A_log, state)
        if run.memory is not None:
            run.memory[self.number] = conv_past, state
        mixed = seen + x * self.D
        result: Tensor = self.out_proj(mixed * F.silu(gate))
        return result

    def _selected(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Step size [b, s, d_i], B and C [b, s, N]."""
        sizes = (self.part.dt_rank, self.part.state_size, self.part.state_size)
        chosen = self.x_proj(x).split(sizes, dim=-1)
        if self.part.inner_norms:
            chosen = tuple(norm(one) for norm, one in zip(self.inner_norms, chosen, strict=True))
        return F.softplus(self.dt_proj(chosen[0])), chosen[1], chosen[2]


class Mamba2Twin(nn.Module):
    """Heads of p channels, each with a state [p, N] and one decay; B and C shared by groups."""

    def __init__(self, part: Mamba2, setting: Setting, number: int) -> None:
        super().__init__()
        self.part, self.number = part, number
        self.inner = part.num_heads * part.head_dim
        self.shared = 2 * part.n_groups * part.state_size
        rows = 2 * self.inner + self.shared + part.num_heads
        self.in_proj = nn.Linear(setting.hidden_size, rows, bias=part.bias)
        self.conv = CausalConvolution(
            self.inner + self.shared, part.conv_kernel, bias=part.conv_bias
        )
        self.dt_bias = nn.Parameter(torch.ones(part.num_heads))
        self.A_log = nn.Parameter(torch.zeros(part.num_heads))
        self.D = nn.Parameter(torch.ones(part.num_heads))
        self.norm = GatedNorm(self.inner, normed=part.gated_norm)
        self.out_proj = nn.Linear(self.inner, setting.hidden_size, bias=part.bias)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        """[b, s, d] to [b, s, d]."""
        part = self.part
        sizes = (self.inner, self.inner + self.shared, part.num_heads)
        gate, inner, step = self.in_proj(x).split(sizes, dim=-1)
        conv_past, state = (run.memory or {}).get(self.number, (None, None))
        inner, conv_past = self.conv(inner, conv_past)
        heads, into, out = self._split(inner)
        step = F.softplus(step + self.dt_bias)
        seen, state = scanned(_mamba2, heads, step, into, out, self.A_log, state)
        if run.memory is not None:
            run.memory[self.number] = conv_past, state
        mixed = seen + heads * self.D[:, None]
        result: Tensor = self.out_proj(self.norm(mixed.flatten(2), gate))
        return result

    def _split(self, inner: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs [b, s, h, p], and B and C [b, s, G, N]."""
        part = self.part
        x, shared = inner.split((self.inner, self.shared), dim=-1)
        heads = x.view(*x.shape[:2], part.num_heads, part.head_dim)
        both = shared.view(*x.shape[:2], 2, part.n_groups, part.state_size)
        return heads, both[:, :, 0], both[:, :, 1]


def _mamba1(
    x: Tensor, step: Tensor, into: Tensor, out: Tensor, a_log: Tensor, state: Tensor | None
) -> tuple[Tensor, Tensor]:
    """From x and step [b, s, d_i], B and C [b, s, N]: outputs and the state [b, d_i, N]."""
    if state is None:
        state = x.new_zeros(x.shape[0], x.shape[2], into.shape[2])
    decay = -torch.exp(a_log.to(x.dtype))
    seen = []
    for t in range(x.shape[1]):
        kept = torch.exp(step[:, t, :, None] * decay)
        state = kept * state + outer(step[:, t] * x[:, t], into[:, t])
        seen.append(read(state, out[:, t]))
    return torch.stack(seen, dim=1), state


def _mamba2(
    x: Tensor, step: Tensor, into: Tensor, out: Tensor, a_log: Tensor, state: Tensor | None
) -> tuple[Tensor, Tensor]:
    """From x [b, s, h, p], step [b, s, h], B and C [b, s, G, N]: outputs, state [b, h, p, N]."""
    groups = x.shape[2] // into.shape[2]
    into, out = into.repeat_interleave(groups, dim=2), out.repeat_interleave(groups, dim=2)
    if state is None:
        state = x.new_zeros(x.shape[0], x.shape[2], x.shape[3], into.shape[3])
    kept = torch.exp(-step * torch.exp(a_log.to(x.dtype)))
    seen = []
    for t in range(x.shape[1]):
        written = outer(step[:, t, :, None] * x[:, t], into[:, t])
        state = kept[:, t, :, None, None] * state + written
        seen.append(read(state, out[:, t]))
    return torch.stack(seen, dim=1), state
