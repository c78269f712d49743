"""Multi-head latent attention, with keys and values expanded from the latent that is remembered."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from llmcalc.spec.parts import LatentAttention
from llmcalc.twin.kernels import attend
from llmcalc.twin.norms import RmsNorm
from llmcalc.twin.rotary import deinterleaved, rotated
from llmcalc.twin.setting import Pass, Setting


class LatentAttentionTwin(nn.Module):
    """Queries from x or a latent of it, keys and values from one latent a token."""

    def __init__(self, part: LatentAttention, setting: Setting, number: int) -> None:
        super().__init__()
        d, h, width = (
            setting.hidden_size,
            part.num_heads,
            part.qk_nope_head_dim + part.qk_rope_head_dim,
        )
        self.part, self.setting, self.number = part, setting, number
        if part.q_lora_rank is None:
            self.q_proj = nn.Linear(d, h * width, bias=False)
        else:
            self.q_a_proj = nn.Linear(d, part.q_lora_rank, bias=False)
            self.q_a_norm = RmsNorm(part.q_lora_rank)
            self.q_b_proj = nn.Linear(part.q_lora_rank, h * width, bias=False)
        self.kv_a_proj = nn.Linear(d, part.kv_lora_rank + part.qk_rope_head_dim, bias=False)
        self.kv_a_norm = RmsNorm(part.kv_lora_rank)
        self.kv_b_proj = nn.Linear(
            part.kv_lora_rank, h * (part.qk_nope_head_dim + part.v_head_dim), bias=False
        )
        self.o_proj = nn.Linear(h * part.v_head_dim, d, bias=False)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        """[b, s, d] to [b, s, d]."""
        q = self._queries(x, run)
        latent, rope = self._latent(x, run)
        if run.memory is not None:
            latent, rope = self._remembered(latent, rope, run.memory)
        k, v = self._expanded(latent, rope)
        mixed = attend(
            q, k, v, kernel=self.setting.kernel, mask=None, causal=self.setting.causal, sinks=None
        )
        out: Tensor = self.o_proj(mixed)
        return out

    def _queries(self, x: Tensor, run: Pass) -> Tensor:
        """[b, h, s, d_n + d_r], the second part turned."""
        if self.part.q_lora_rank is None:
            q = self.q_proj(x)
        else:
            q = self.q_b_proj(self.q_a_norm(self.q_a_proj(x)))
        q = q.unflatten(-1, (self.part.num_heads, -1)).transpose(1, 2)
        plain, rope = q.split((self.part.qk_nope_head_dim, self.part.qk_rope_head_dim), dim=-1)
        rotation = run.rotation(self.part.qk_rope_head_dim, q.dtype)
        return torch.cat((plain, rotated(deinterleaved(rope), rotation)), dim=-1)

    def _latent(self, x: Tensor, run: Pass) -> tuple[Tensor, Tensor]:
        """The normed latent [b, s, r_kv] and the turned key that all heads share [b, 1, s, d_r]."""
        both = self.kv_a_proj(x)
        latent, rope = both.split((self.part.kv_lora_rank, self.part.qk_rope_head_dim), dim=-1)
        rotation = run.rotation(self.part.qk_rope_head_dim, x.dtype)
        return self.kv_a_norm(latent), rotated(deinterleaved(rope[:, None]), rotation)

    def _remembered(
        self, latent: Tensor, rope: Tensor, memory: dict[int, tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, Tensor]:
        if self.number in memory:
            past_latent, past_rope = memory[self.number]
            latent = torch.cat((past_latent, latent), dim=1)
            rope = torch.cat((past_rope, rope), dim=2)
        memory[self.number] = latent, rope
        return latent, rope

    def _expanded(self, latent: Tensor, rope: Tensor) -> tuple[Tensor, Tensor]:
        """Keys [b, h, s, d_n + d_r] and values [b, h, s, d_v] of every head."""
        heads = self.kv_b_proj(latent).unflatten(-1, (self.part.num_heads, -1)).transpose(1, 2)
        plain, v = heads.split((self.part.qk_nope_head_dim, self.part.v_head_dim), dim=-1)
        k = torch.cat((plain, rope.expand(-1, self.part.num_heads, -1, -1)), dim=-1)
        return k, v
