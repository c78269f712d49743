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
        self.indexer = IndexerTwin(part, setting) if part.indexer else None

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        """[b, s, d] to [b, s, d]."""
        source = x if self.part.q_lora_rank is None else self.q_a_norm(self.q_a_proj(x))
        q = self._queries(source, run)
        latent, rope = self._latent(x, run)
        past = (run.memory or {}).get(self.number)
        if past is not None:
            latent = torch.cat((past[0], latent), dim=1)
            rope = torch.cat((past[1], rope), dim=2)
        mask = picked = None
        keys: tuple[Tensor, ...] = ()
        if self.indexer is not None:
            with torch.no_grad():  # it learns from a loss of its own, not through what it picks
                mask, picked, *keys = self.indexer(source, x, None if past is None else past[2])
        if run.memory is not None:
            run.memory[self.number] = latent, rope, *keys
        if picked is not None:
            latent, rope = _rows(latent, picked), _rows(rope[:, 0], picked)[:, None]
        mix = self._absorbed if past is not None else self._expanded
        out: Tensor = self.o_proj(mix(q, latent, rope, mask))
        return out

    def _queries(self, source: Tensor, run: Pass) -> Tensor:
        """[b, h, s, d_n + d_r], the second part turned."""
        project = self.q_proj if self.part.q_lora_rank is None else self.q_b_proj
        q = project(source).unflatten(-1, (self.part.num_heads, -1)).transpose(1, 2)
        plain, rope = q.split((self.part.qk_nope_head_dim, self.part.qk_rope_head_dim), dim=-1)
        rotation = run.rotation(self.part.qk_rope_head_dim, q.dtype)
        return torch.cat((plain, rotated(deinterleaved(rope), rotation)), dim=-1)

    def _latent(self, x: Tensor, run: Pass) -> tuple[Tensor, Tensor]:
        """The normed latent [b, s, r_kv] and the turned key that all heads share [b, 1, s, d_r]."""
        both = self.kv_a_proj(x)
        latent, rope = both.split((self.part.kv_lora_rank, self.part.qk_rope_head_dim), dim=-1)
        rotation = run.rotation(self.part.qk_rope_head_dim, x.dtype)
        return self.kv_a_norm(latent), rotated(deinterleaved(rope[:, None]), rotation)

    def _expanded(self, q: Tensor, latent: Tensor, rope: Tensor, mask: Tensor | None) -> Tensor:
        """Keys [b, h, s, d_n + d_r] and values [b, h, s, d_v] of every head, attended to."""
        heads = self.kv_b_proj(latent).unflatten(-1, (self.part.num_heads, -1)).transpose(1, 2)
        plain, v = heads.split((self.part.qk_nope_head_dim, self.part.v_head_dim), dim=-1)
        k = torch.cat((plain, rope.expand(-1, self.part.num_heads, -1, -1)), dim=-1)
        return attend(q, k, v, kernel=self.setting.kernel, mask=mask)

    def _absorbed(self, q: Tensor, latent: Tensor, rope: Tensor, mask: Tensor | None) -> Tensor:
        """The same with the expansion moved into queries and outputs, over the latent itself."""
        part = self.part
        up = self.kv_b_proj.weight.view(part.num_heads, -1, part.kv_lora_rank)
        to_k, to_v = up.split((part.qk_nope_head_dim, part.v_head_dim), dim=1)
        plain, turned = q.split((part.qk_nope_head_dim, part.qk_rope_head_dim), dim=-1)
        wide = torch.cat((torch.matmul(plain, to_k), turned), dim=-1)
        keys = torch.cat((latent[:, None], rope), dim=-1)
        mixed = attend(
            wide, keys, latent[:, None], kernel=self.setting.kernel, mask=mask,
            scale=q.shape[-1] ** -0.5,
        )  # fmt: skip
        heads = mixed.unflatten(-1, (part.num_heads, -1)).transpose(1, 2)
        return torch.matmul(heads, to_v.transpose(1, 2)).transpose(1, 2).flatten(2)


class IndexerTwin(nn.Module):
    """A few narrow heads score all earlier tokens; a query attends to those that score best."""

    def __init__(self, part: LatentAttention, setting: Setting) -> None:
        super().__init__()
        indexer = part.indexer
        assert indexer is not None  # noqa: S101  the caller asked
        self.topk, self.heads = indexer.topk, indexer.num_heads
        source = part.q_lora_rank or setting.hidden_size
        self.q_proj = nn.Linear(source, indexer.num_heads * indexer.head_dim, bias=False)
        self.k_proj = nn.Linear(setting.hidden_size, indexer.head_dim, bias=False)
        self.k_norm = nn.LayerNorm(indexer.head_dim)
        self.weights_proj = nn.Linear(setting.hidden_size, indexer.num_heads, bias=False)

    def forward(
        self, source: Tensor, x: Tensor, past: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None, Tensor]:
        """Where queries may look [b, 1, s_q, s_k], what a single one picks [b, topk], and the keys.

        Without the first two they look at everything before.
        """
        keys = self.k_norm(self.k_proj(x))
        if past is not None:
            keys = torch.cat((past, keys), dim=1)
        q = self.q_proj(source).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        scores = torch.relu(torch.matmul(q, keys[:, None].transpose(2, 3)))
        score = (scores * self.weights_proj(x).transpose(1, 2)[..., None]).sum(1)
        if keys.shape[1] > self.topk and score.shape[1] == 1:
            return None, score[:, 0].topk(self.topk).indices, keys
        if keys.shape[1] <= self.topk or keys.is_meta:
            return None, None, keys
        before = torch.ones(score.shape[1:], dtype=torch.bool, device=x.device).tril(
            keys.shape[1] - score.shape[1]
        )
        best = score.masked_fill(~before, -torch.inf).topk(self.topk, dim=-1).indices
        chosen = torch.zeros_like(score, dtype=torch.bool).scatter_(2, best, value=True)
        return (chosen & before)[:, None], None, keys


def _rows(x: Tensor, picked: Tensor) -> Tensor:
    """Rows of [b, s, n] by their numbers [b, k]: [b, k, n]."""
    return x.gather(1, picked[..., None].expand(-1, -1, x.shape[-1]))
