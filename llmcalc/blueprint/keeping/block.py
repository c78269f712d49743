"""What one layer keeps: norms where the placement puts them, inputs of parts, and the parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llmcalc.blueprint.context import Context
from llmcalc.blueprint.keeping.attention import kept_by_attention, kept_by_latent_attention
from llmcalc.blueprint.keeping.feedforward import kept_by_mlp, kept_by_moe
from llmcalc.blueprint.keeping.recurrent import (
    kept_by_gated_deltanet,
    kept_by_kimi_delta,
    kept_by_lightning,
    kept_by_mamba1,
    kept_by_mamba2,
    kept_by_rwkv_channel,
    kept_by_rwkv_time,
)
from llmcalc.blueprint.keeping.tensor import Kept, by_norm, kept
from llmcalc.spec.card import Block
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe
from llmcalc.spec.recurrent import (
    GatedDeltaNet,
    KimiDelta,
    Lightning,
    Mamba1,
    Mamba2,
    RwkvChannel,
    RwkvTime,
)

KEEPING: dict[type, Callable[[Any, Context], tuple[Kept, ...]]] = {
    Attention: kept_by_attention,
    LatentAttention: kept_by_latent_attention,
    GatedDeltaNet: kept_by_gated_deltanet,
    KimiDelta: kept_by_kimi_delta,
    Lightning: kept_by_lightning,
    Mamba1: kept_by_mamba1,
    Mamba2: kept_by_mamba2,
    RwkvTime: kept_by_rwkv_time,
    RwkvChannel: kept_by_rwkv_channel,
    Mlp: kept_by_mlp,
    Moe: kept_by_moe,
}
"""What each kind of part keeps, its input apart."""


def kept_by_block(block: Block, context: Context) -> tuple[Kept, ...]:
    """Everything that one layer keeps."""
    inside = [one for part in block.parts for one in KEEPING[type(part)](part, context)]
    return (*_around(block, context), *inside)


def _around(block: Block, context: Context) -> tuple[Kept, ...]:
    """Inputs of parts, and what their norms keep."""
    dims = {"d": context.hidden_size}
    norm = by_norm("norm", "d", dims, context.norm, residual=True)
    entry = kept("input of a part", "d", dims, needed_for="product", residual=True)
    parts = len(block.parts)
    if block.placement == "parallel":
        return _parallel(block, context, norm, entry)
    if not block.norms:
        return (entry,) * parts
    each = {"pre": 1, "post": 1, "output": 1, "sandwich": 2}[block.placement]
    return (*norm * each * parts, *(entry,) * parts)


def _parallel(
    block: Block, context: Context, norm: tuple[Kept, ...], entry: Kept
) -> tuple[Kept, ...]:
    """All norms see the same input, which torch's LayerNorm keeps once."""
    inputs = min(len(block.parts), max(block.norms, 1))
    shared = max(block.norms - 1, 0) if context.norm != "rms" else 0
    once = [one for one in norm if one.name == "norm input"][:1]
    every = list(norm * block.norms)
    for one in once * shared:
        every.remove(one)
    return (*every, *(entry,) * inputs)
