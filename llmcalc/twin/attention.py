"""Softmax attention with any number of key and value heads."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from llmcalc.spec.parts import Attention
from llmcalc.twin.held import Held
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
        k_bias = part.qkv_bias if part.k_bias is None else part.k_bias
        self.k_proj = nn.Linear(d, self.h_kv * self.d_k, bias=k_bias)
        if not part.k_eq_v:
            self.v_proj = nn.Linear(d, self.h_kv * self.d_v, bias=part.qkv_bias)
        self.o_proj = nn.Linear(h * self.d_v, d, bias=part.o_bias)
        if part.output_gate:
            self.gate_proj = nn.Linear(d, h * self.d_v, bias=False)
        if part.qk_norm:
            whole = part.qk_norm == "full"
            self.q_norm = norm(setting.norm, h * self.d_k if whole else self.d_k)
            self.k_norm = norm(setting.norm, self.h_kv * self.d_k if whole else self.d_k)
        if part.sinks:
            self.sinks = nn.Parameter(torch.zeros(h))
        if part.relative_buckets:
            self.relative_bias = nn.Embedding(part.relative_buckets, h)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        """[b, s, d] to [b, s, d]."""
        q = self._queries(x, run)
        k, v = self._looked_at(x, run)
        mixed = attend(
            q, k, v,
            kernel=self.setting.kernel,
            mask=self._mask(run.positions, k.shape[2]),
            causal=self.setting.causal and not self.part.cross,
            sinks=self.sinks if self.part.sinks else None,
            bias=self._bias(run.positions, k.shape[2]),
        )  # fmt: skip
        if self.part.output_gate:
            mixed = mixed * torch.sigmoid(self.gate_proj(x))
        out: Tensor = self.o_proj(mixed)
        return out

    def _queries(self, x: Tensor, run: Pass) -> Tensor:
        """[b, h, s, d_k], normed and turned."""
        return self._turned(self._normed(self.q_proj(x), "q_norm"), run)

    def _looked_at(self, x: Tensor, run: Pass) -> tuple[Tensor, Tensor]:
        """Keys and values: of the encoder, of an earlier layer, or of these tokens and the past."""
        key = (self.h_kv, self.d_k, self.part.window)
        if self.part.kv_reuse:
            return run.latest[key]
        found: tuple[Tensor, Tensor] | None = (run.memory or {}).get(self.number)
        if self.part.cross and found is not None:
            return found
        source = run.encoded if self.part.cross else x
        if source is None:
            raise ValueError("cross-attention needs what the encoder has put out")
        projected = self.k_proj(source)
        k = self._turned(self._normed(projected, "k_norm"), run)
        v = projected if self.part.k_eq_v else self.v_proj(source)
        v = v.unflatten(-1, (-1, self.d_v)).transpose(1, 2)
        if run.memory is not None:
            k, v = self._remembered(k, v, run.memory)
        run.latest[key] = k, v
        return k, v

    def _normed(self, x: Tensor, name: str) -> Tensor:
        """[b, s, heads·d_k] as [b, heads, s, d_k], after the norm of that name if there is one."""
        if self.part.qk_norm == "full":
            x = getattr(self, name)(x)
        x = x.unflatten(-1, (-1, self.d_k))
        if self.part.qk_norm == "head":
            x = getattr(self, name)(x)
        return x.transpose(1, 2)

    def _turned(self, x: Tensor, run: Pass) -> Tensor:
        """Heads turned by their positions, which the encoder's tokens do not have here."""
        dim = self.d_k if self.part.rotary_dim is None else self.part.rotary_dim
        return rotated(x, run.rotation(dim, x.dtype)) if dim and not self.part.cross else x

    def _remembered(
        self, k: Tensor, v: Tensor, memory: dict[int, tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, Tensor]:
        """Keys and values of the past and of now; what falls out of the window is forgotten."""
        new, past = k.shape[2], memory.get(self.number)
        if isinstance(past, Held):
            return past.written(k, v)
        if past is not None:
            past_k, past_v = past
            k, v = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
        if self.part.window is None:
            memory[self.number] = k, v
            return k, v
        last_k, last_v = k[:, :, -self.part.window :], v[:, :, -self.part.window :]
        memory[self.number] = last_k, last_v
        return (last_k, last_v) if new == 1 else (k, v)

    def _bias(self, positions: Tensor, keys: int) -> Tensor | None:
        """[1, h, s_q, s_k], a learned number a head and distance, far ones sharing the last."""
        if not self.part.relative_buckets:
            return None
        past = positions[-1] - keys + 1 + torch.arange(keys, device=positions.device)
        distance = (positions[:, None] - past).clamp(0, self.part.relative_buckets - 1)
        bias: Tensor = self.relative_bias(distance).permute(2, 0, 1)[None]
        return bias

    def _mask(self, positions: Tensor, keys: int) -> Tensor | None:
        """Where a query may look, if the plain causal triangle does not say it."""
        queries = positions.shape[0]
        if not self.setting.causal or self.part.cross or positions.is_meta:
            return None
        if queries == 1 or (self.part.window is None and queries == keys):
            return None  # a single query sees all keys: those beyond its window are forgotten
        distance = positions[:, None] - (
            positions[-1] - keys + 1 + torch.arange(keys, device=positions.device)
        )
        seen = distance >= 0
        return seen if self.part.window is None else seen & (distance < self.part.window)
