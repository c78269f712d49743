"""The matrices and caches that a decode step of a card works on, read off its modules."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import count

import torch
from torch import nn

from llmcalc.spec.card import ModelCard
from llmcalc.spec.pattern import layer_names
from llmcalc.twin.attention import AttentionTwin
from llmcalc.twin.block import BlockTwin
from llmcalc.twin.feedforward import MoeTwin
from llmcalc.twin.latent_attention import LatentAttentionTwin
from llmcalc.twin.model import EndsTwin
from llmcalc.twin.setting import Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A weight [n, k] that `times` products of one token's step go through."""

    n: int
    k: int
    times: int

    @property
    def elements(self) -> int:
        """Numbers read in a step."""
        return self.n * self.k * self.times


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheShape:
    """What one query of a layer is multiplied with."""

    heads: int
    kv_heads: int
    qk_dim: int
    v_dim: int
    shared: bool = False
    """Values are the first columns of keys, as in an absorbed latent."""

    @property
    def elements(self) -> int:
        """Of one token."""
        return self.kv_heads * (self.qk_dim + (0 if self.shared else self.v_dim))


def matrices(card: ModelCard) -> tuple[Matrix, ...]:
    """Every shape of weight in a decode step of one sequence, the largest share first."""
    found: Counter[tuple[int, int]] = Counter()
    for module, times in _modules(card):
        for shape, occurs in _of(module).items():
            found[shape] += occurs * times
    made = (Matrix(n=n, k=k, times=times) for (n, k), times in found.items())
    return tuple(sorted(made, key=lambda one: -one.elements))


def cache_shape(card: ModelCard) -> CacheShape | None:
    """Of the attention that occurs most often; None for a model without."""
    found: Counter[CacheShape] = Counter()
    for module, times in _modules(card):
        for one in module.modules():
            if isinstance(one, AttentionTwin) and not one.part.cross:
                found[
                    CacheShape(
                        heads=one.part.num_heads, kv_heads=one.h_kv, qk_dim=one.d_k, v_dim=one.d_v
                    )
                ] += times
            elif isinstance(one, LatentAttentionTwin):
                found[_latent(one)] += times
    return found.most_common(1)[0][0] if found else None


def _latent(one: LatentAttentionTwin) -> CacheShape:
    part = one.part
    return CacheShape(
        heads=part.num_heads,
        kv_heads=1,
        qk_dim=part.kv_lora_rank + part.qk_rope_head_dim,
        v_dim=part.kv_lora_rank,
        shared=True,
    )


def _modules(card: ModelCard) -> list[tuple[nn.Module, int]]:
    """A layer of each kind with its repeats, and the ends, without data."""
    setting = Setting(hidden_size=card.hidden_size, norm=card.norm, causal=card.causal)
    with torch.device("meta"):
        layers: list[tuple[nn.Module, int]] = [
            (BlockTwin(card.blocks[name], setting, count()), times)
            for name, times in Counter(layer_names(card.layers)).items()
        ]
        return [*layers, (EndsTwin(card), 1)]


def _of(module: nn.Module) -> Counter[tuple[int, int]]:
    """Shapes of a module's products; of experts as many as a token visits."""
    found: Counter[tuple[int, int]] = Counter()
    for one in module.modules():
        if isinstance(one, nn.Linear):
            found[one.out_features, one.in_features] += 1
        elif isinstance(one, MoeTwin):
            for weight in (one.gate_proj, one.up_proj, one.down_proj):
                if weight is not None:
                    _, n, k = weight.shape
                    found[n, k] += one.part.num_experts_per_tok
    return found
