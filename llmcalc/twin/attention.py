"""Softmax attention with any number of key and value heads."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from llmcalc.spec.parts import Attention
from llmcalc.twin.kernels import attend
from llmcalc.twin.norms import norm
from llmcalc.twin.rotary import rotated
from llmcalc.twin.setting import Pass, Setting


class AttentionTwin(nn.Module):
    """Queries, keys and values from x, mixed over the tokens, projected back."""

    def __init__(self, part: Attention, setting: Setting, number: int) -> None:
        super().__init__()
        d, h = setting.hidden_size, part.num_heads
        self.part, self.setting, self.number = part, setting, number
        self.h_kv = part.num_kv_heads or h
        self.d_k = part.head_dim or d // h
        self.d_v = part.v_head_dim or self.d_k
        self.q_proj = nn.Linear(d, h * self.d_k, bias=part.qkv_bias)
        self.k_proj = nn.Linear(d, self.h_kv * self.d_k, bias=part.qkv_bias)
        self.v_proj = nn.Linear(d, self.h_kv * self.d_v, bias=part.qkv_bias)
        self.o_proj = nn.Linear(h * self.d_v, d, bias=part.o_bias)
        if part.output_gate:
            self.gate_proj = nn.Linear(d, h * self.d_v, bias=False)
        if part.qk_norm:
            whole = part.qk_norm == "full"
            self.q_norm = norm(setting.norm, h * self.d_k if whole else self.d_k)
            self.k_norm = norm(setting.norm, self.h_kv * self.d_k if whole else self.d_k)
        if part.sinks:
            self.sinks = nn.Parameter(torch.empty(h))

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        """[b, s, d] to [b, s, d]."""
        q, k, v = self._heads(x, run)
        if run.memory is not None:
            k, v = self._remembered(k, v, run.memory)
        mask = self._mask(run.positions, k.shape[2])
        mixed = attend(
            q, k, v,
            kernel=self.setting.kernel, mask=mask, causal=self.setting.causal,
            sinks=self.sinks if self.part.sinks else None,
        )  # fmt: skip
        if self.part.output_gate:
            mixed = mixed * torch.sigmoid(self.gate_proj(x))
        out: Tensor = self.o_proj(mixed)
        return out

    def _heads(self, x: Tensor, run: Pass) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values as [b, heads, s, width], normed and turned."""
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        if self.part.qk_norm == "full":
            q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = _split(q, self.d_k), _split(k, self.d_k), _split(v, self.d_v)
        if self.part.qk_norm == "head":
            q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        turned = self.d_k if self.part.rotary_dim is None else self.part.rotary_dim
        if turned:
            rotation = run.rotation(turned, q.dtype)
            q, k = rotated(q, rotation), rotated(k, rotation)
        return q, k, v

    def _remembered(
        self, k: Tensor, v: Tensor, memory: dict[int, tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, Tensor]:
        """Keys and values of the past and of now; what falls out of the window is forgotten after."""
        if self.number in memory:
            past_k, past_v = memory[self.number]
            k, v = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
        kept = k.shape[2] if self.part.window is None else min(k.shape[2], self.part.window)
        memory[self.number] = k[:, :, -kept:], v[:, :, -kept:]
        return k, v

    def _mask(self, positions: Tensor, keys: int) -> Tensor | None:
        """Where a query may look, if the plain causal triangle does not say it."""
        queries = positions.shape[0]
        if not self.setting.causal or positions.is_meta:
            return None
        if self.part.window is None and queries in {1, keys}:
            return None
        distance = positions[:, None] - (
            positions[-1] - keys + 1 + torch.arange(keys, device=positions.device)
        )
        seen = distance >= 0
        return seen if self.part.window is None else seen & (distance < self.part.window)


def _split(x: Tensor, width: int) -> Tensor:
    """[b, s, heads·width] as [b, s, heads, width]."""
    return x.unflatten(-1, (-1, width))
