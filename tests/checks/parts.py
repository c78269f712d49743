"""Of each kind of part: one of it, other values of its fields, and what each of them moves."""

from __future__ import annotations

from typing import Any

from llmcalc.spec.card import Block, ModelCard
from llmcalc.spec.parts import Attention, Indexer, LatentAttention, Mlp, Moe, Part
from llmcalc.spec.recurrent import (
    GatedDeltaNet,
    KimiDelta,
    Lightning,
    Mamba1,
    Mamba2,
    RwkvChannel,
    RwkvTime,
)

D = 16


def card(*parts: Part, **more: Any) -> ModelCard:
    """Two layers of these parts."""
    asked: dict[str, Any] = {
        "name": "small",
        "family": "test",
        "source": "by hand",
        "hidden_size": D,
        "vocab_size": 32,
        "blocks": {"one": Block(parts=parts)},
        "layers": ("2*one",),
    }
    return ModelCard(**(asked | more))


MLP = Mlp(intermediate_size=24)
ATTENTION = Attention(num_heads=4, num_kv_heads=2, head_dim=8)
LATENT = LatentAttention(
    num_heads=4, q_lora_rank=16, kv_lora_rank=8, qk_nope_head_dim=8, qk_rope_head_dim=8,
    v_head_dim=8, indexer=Indexer(num_heads=2, head_dim=8, topk=4),
)  # fmt: skip
MOE = Moe(num_experts=4, num_experts_per_tok=2, intermediate_size=8, shared_intermediate_size=8)

PARTS: dict[type, tuple[Any, dict[str, tuple[Any, str]]]] = {
    Attention: (
        ATTENTION,
        {
            "num_heads": (8, "params"),
            "num_kv_heads": (4, "memory_bytes"),
            "head_dim": (16, "memory_bytes"),
            "v_head_dim": (16, "memory_bytes"),
            "qkv_bias": (True, "params"),
            "k_bias": (True, "params"),
            "o_bias": (True, "params"),
            "qk_norm": ("head", "params"),
            "sinks": (True, "params"),
            "output_gate": (True, "params"),
            "window": (24, "memory_bytes"),
            "relative_buckets": (4, "params"),
            "k_eq_v": (True, "params"),
            "kv_reuse": (True, "memory_bytes"),
        },
    ),
    LatentAttention: (
        LATENT,
        {
            "num_heads": (8, "params"),
            "q_lora_rank": (None, "params"),
            "kv_lora_rank": (16, "memory_bytes"),
            "qk_nope_head_dim": (16, "params"),
            "qk_rope_head_dim": (16, "memory_bytes"),
            "v_head_dim": (16, "params"),
            "indexer": (None, "params"),
        },
    ),
    Mlp: (
        MLP,
        {
            "intermediate_size": (32, "params"),
            "gated": (False, "params"),
            "bias": (True, "params"),
            "activation": ("relu", "kept_sdpa"),
        },
    ),
    Moe: (
        MOE,
        {
            "num_experts": (8, "params"),
            "num_experts_per_tok": (3, "flops_prefill"),
            "intermediate_size": (16, "params"),
            "shared_intermediate_size": (16, "params"),
            "shared_gate": (True, "params"),
            "gated": (False, "params"),
            "router_bias": (True, "params"),
            "expert_bias": (True, "params"),
            "latent_size": (8, "params"),
            "zero_experts": (4, "params"),
            "correction_bias": (True, "buffers"),
            "activation": ("relu", "kept_sdpa"),
        },
    ),
    GatedDeltaNet: (
        GatedDeltaNet(num_k_heads=2, num_v_heads=4, head_k_dim=8, head_v_dim=8),
        {
            "num_k_heads": (4, "params"),
            "num_v_heads": (8, "memory_bytes"),
            "head_k_dim": (16, "memory_bytes"),
            "head_v_dim": (16, "memory_bytes"),
            "conv_kernel": (3, "memory_bytes"),
        },
    ),
    KimiDelta: (
        KimiDelta(num_heads=2, head_dim=8),
        {
            "num_heads": (4, "memory_bytes"),
            "head_dim": (16, "memory_bytes"),
            "conv_kernel": (3, "memory_bytes"),
        },
    ),
    Lightning: (
        Lightning(num_heads=2, head_dim=8),
        {"num_heads": (4, "memory_bytes"), "head_dim": (16, "memory_bytes")},
    ),
    Mamba1: (
        Mamba1(intermediate_size=32, state_size=8, dt_rank=4),
        {
            "intermediate_size": (64, "memory_bytes"),
            "state_size": (16, "memory_bytes"),
            "dt_rank": (8, "params"),
            "conv_kernel": (3, "memory_bytes"),
            "conv_bias": (False, "params"),
            "bias": (True, "params"),
            "inner_norms": (True, "params"),
        },
    ),
    Mamba2: (
        Mamba2(num_heads=4, head_dim=8, state_size=8),
        {
            "num_heads": (8, "memory_bytes"),
            "head_dim": (16, "memory_bytes"),
            "state_size": (16, "memory_bytes"),
            "n_groups": (2, "params"),
            "conv_kernel": (3, "memory_bytes"),
            "conv_bias": (False, "params"),
            "bias": (True, "params"),
            "gated_norm": (False, "params"),
        },
    ),
    RwkvTime: (RwkvTime(), {"attention_hidden_size": (32, "memory_bytes")}),
    RwkvChannel: (RwkvChannel(intermediate_size=32), {"intermediate_size": (64, "params")}),
}
"""Of each kind of part: one of it, and other values of its fields."""
