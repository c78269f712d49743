"""Linear attention, token by token: the gated delta rule, Kimi's, and lightning attention."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  the usual name
from torch import Tensor, nn

from llmcalc.spec.recurrent import GatedDeltaNet, KimiDelta, Lightning
from llmcalc.twin.norms import RmsNorm
from llmcalc.twin.recurrence import CausalConvolution, GatedNorm, outer, read, scanned
from llmcalc.twin.setting import Pass, Setting


def delta_rule(
    q: Tensor, k: Tensor, v: Tensor, decay: Tensor, beta: Tensor, state: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Correct the state [b, h, d_v, d_k] towards each value, and read it by each query.

    q and k [b, s, h_k, d_k], v [b, s, h, d_v], decay [b, s, h, 1 or d_k], beta [b, s, h]:
    [b, s, h, d_v] and the last state. Queries and keys are normed to length one.
    """
    groups = v.shape[2] // k.shape[2]
    q, k = (F.normalize(x, dim=-1).repeat_interleave(groups, dim=2) for x in (q, k))
    if state is None:
        state = v.new_zeros(v.shape[0], v.shape[2], v.shape[3], k.shape[3])
    seen = []
    for t in range(q.shape[1]):
        state = state * decay[:, t, :, None]
        wrong = v[:, t] - read(state, k[:, t])
        state = state + outer(wrong * beta[:, t, :, None], k[:, t])
        seen.append(read(state, q[:, t]))
    return torch.stack(seen, dim=1), state


def lightning(q: Tensor, k: Tensor, v: Tensor, state: Tensor | None) -> tuple[Tensor, Tensor]:
    """All [b, s, h, d_h]: outputs of that shape and the state [b, h, d_h, d_h]."""
    heads = q.shape[2]
    if state is None:
        state = q.new_zeros(q.shape[0], heads, q.shape[3], q.shape[3])
    slope = 2 ** (-8 * torch.arange(1, heads + 1, device=q.device, dtype=q.dtype) / heads)
    decay = torch.exp(-slope)[:, None, None]
    seen = []
    for t in range(q.shape[1]):
        state = decay * state + outer(v[:, t], k[:, t])
        seen.append(read(state, q[:, t]))
    return torch.stack(seen, dim=1), state


class GatedDeltaNetTwin(nn.Module):
    """The gated delta rule behind a short convolution, as Qwen3-Next has it."""

    def __init__(self, part: GatedDeltaNet, setting: Setting, number: int) -> None:
        super().__init__()
        self.part, self.number = part, number
        self.keys, self.values = (
            part.num_k_heads * part.head_k_dim,
            part.num_v_heads * part.head_v_dim,
        )
        d = setting.hidden_size
        self.in_proj_qkvz = nn.Linear(d, 2 * self.keys + 2 * self.values, bias=False)
        self.in_proj_ba = nn.Linear(d, 2 * part.num_v_heads, bias=False)
        self.conv = CausalConvolution(2 * self.keys + self.values, part.conv_kernel, bias=False)
        self.dt_bias = nn.Parameter(torch.ones(part.num_v_heads))
        self.A_log = nn.Parameter(torch.zeros(part.num_v_heads))
        self.norm = GatedNorm(part.head_v_dim)
        self.out_proj = nn.Linear(self.values, d, bias=False)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        """[b, s, d] to [b, s, d]."""
        part = self.part
        mixed, gate = self.in_proj_qkvz(x).split((2 * self.keys + self.values, self.values), dim=-1)
        beta, step = self.in_proj_ba(x).chunk(2, dim=-1)
        conv_past, state = (run.memory or {}).get(self.number, (None, None))
        mixed, conv_past = self.conv(mixed, conv_past)
        q, k, v = mixed.split((self.keys, self.keys, self.values), dim=-1)
        q, k = _heads(q, part.head_k_dim), _heads(k, part.head_k_dim)
        decay = torch.exp(-torch.exp(self.A_log.to(x.dtype)) * F.softplus(step + self.dt_bias))
        out, state = scanned(
            delta_rule, q, k, _heads(v, part.head_v_dim), decay[..., None], torch.sigmoid(beta),
            state,
        )  # fmt: skip
        if run.memory is not None:
            run.memory[self.number] = conv_past, state
        normed = self.norm(out, _heads(gate, part.head_v_dim))
        result: Tensor = self.out_proj(normed.flatten(2))
        return result


class KimiDeltaTwin(nn.Module):
    """The delta rule with a decay for each channel of a head."""

    def __init__(self, part: KimiDelta, setting: Setting, number: int) -> None:
        super().__init__()
        d, width = setting.hidden_size, part.num_heads * part.head_dim
        self.part, self.number = part, number
        self.q_proj = nn.Linear(d, width, bias=False)
        self.k_proj = nn.Linear(d, width, bias=False)
        self.v_proj = nn.Linear(d, width, bias=False)
        self.conv = CausalConvolution(3 * width, part.conv_kernel, bias=False)
        self.f_a_proj = nn.Linear(d, part.head_dim, bias=False)
        self.f_b_proj = nn.Linear(part.head_dim, width, bias=False)
        self.dt_bias = nn.Parameter(torch.ones(width))
        self.A_log = nn.Parameter(torch.zeros(part.num_heads))
        self.b_proj = nn.Linear(d, part.num_heads, bias=False)
        self.g_a_proj = nn.Linear(d, part.head_dim, bias=False)
        self.g_b_proj = nn.Linear(part.head_dim, width, bias=False)
        self.norm = GatedNorm(part.head_dim)
        self.out_proj = nn.Linear(width, d, bias=False)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        """[b, s, d] to [b, s, d]."""
        size = self.part.head_dim
        conv_past, state = (run.memory or {}).get(self.number, (None, None))
        mixed = torch.cat((self.q_proj(x), self.k_proj(x), self.v_proj(x)), dim=-1)
        mixed, conv_past = self.conv(mixed, conv_past)
        q, k, v = (_heads(one, size) for one in mixed.chunk(3, dim=-1))
        step = F.softplus(self.f_b_proj(self.f_a_proj(x)) + self.dt_bias)
        decay = torch.exp(-torch.exp(self.A_log.to(x.dtype))[:, None] * _heads(step, size))
        beta = torch.sigmoid(self.b_proj(x))
        out, state = scanned(delta_rule, q, k, v, decay, beta, state)
        if run.memory is not None:
            run.memory[self.number] = conv_past, state
        gate = _heads(self.g_b_proj(self.g_a_proj(x)), size)
        result: Tensor = self.out_proj(self.norm(out, gate).flatten(2))
        return result


class LightningTwin(nn.Module):
    """Keys and values summed up with a fixed decay a head, normed and gated."""

    def __init__(self, part: Lightning, setting: Setting, number: int) -> None:
        super().__init__()
        d, width = setting.hidden_size, part.num_heads * part.head_dim
        self.part, self.number = part, number
        self.qkv_proj = nn.Linear(d, 3 * width, bias=False)
        self.norm = RmsNorm(width)
        self.gate_proj = nn.Linear(d, width, bias=False)
        self.out_proj = nn.Linear(width, d, bias=False)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        """[b, s, d] to [b, s, d]."""
        part = self.part
        q, k, v = (_heads(one, part.head_dim) for one in F.silu(self.qkv_proj(x)).chunk(3, dim=-1))
        state = (run.memory or {}).get(self.number)
        seen, state = scanned(lightning, q, k, v, state)
        if run.memory is not None:
            run.memory[self.number] = state
        normed = self.norm(seen.flatten(2))
        result: Tensor = self.out_proj(torch.sigmoid(self.gate_proj(x)) * normed)
        return result


def _heads(x: Tensor, size: int) -> Tensor:
    """[b, s, heads·size] as [b, s, heads, size]."""
    return x.view(*x.shape[:2], -1, size)
