"""Configs of Gemma 3n and Gemma 4: embeddings for each layer, caches that layers share."""

from __future__ import annotations

from llmcalc.checks.hf_config.dense import sliding
from llmcalc.checks.hf_config.facts import Keys, every, first, has, layers, maybe, shape, wide
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, Mlp, Moe


def gemma3n_text(card: ModelCard) -> Keys:
    """The streams and the widths of each layer, read off its tensors."""
    block = layers(card)[0]
    return sliding(card) | {
        "intermediate_size": [part.intermediate_size for part in every(card, Mlp)],
        "num_kv_shared_layers": sum(part.kv_reuse for part in every(card, Attention)),
        "altup_num_inputs": shape(block.extra, "altup.correction_coefs")[0],
        "laurel_rank": shape(block.extra, "laurel.linear_left")[0],
        "hidden_size_per_layer_input": shape(block.extra, "per_layer_input_gate")[0],
        "vocab_size_per_layer_input": shape(card.extra, "embed_tokens_per_layer")[0],
        "activation_sparsity_pattern": [0.0] * len(layers(card)),
    }


def gemma4_text(card: ModelCard) -> Keys:
    """Wider heads on layers that see all, whose values may be their keys."""
    parts, block, experts = every(card, Attention), layers(card)[0], maybe(card, Moe)
    local = next(part for part in parts if part.window)
    world = next(part for part in parts if not part.window)
    keys = sliding(card) | wide(card) | {
        "head_dim": local.head_dim or card.hidden_size // local.num_heads,
        "num_key_value_heads": local.num_kv_heads or local.num_heads,
        "global_head_dim": world.head_dim or card.hidden_size // world.num_heads,
        "num_global_key_value_heads": world.num_kv_heads or world.num_heads,
        "attention_k_eq_v": world.k_eq_v,
        "num_kv_shared_layers": sum(part.kv_reuse for part in parts),
        "hidden_size_per_layer_input": 0,
        "enable_moe_block": experts is not None,
    }  # fmt: skip
    if has(block.extra, "per_layer_input_gate"):
        keys["hidden_size_per_layer_input"] = shape(block.extra, "per_layer_input_gate")[0]
        keys["vocab_size_per_layer_input"] = shape(card.extra, "embed_tokens_per_layer")[0]
    if len({part.intermediate_size for part in every(card, Mlp)}) > 1:
        keys["use_double_wide_mlp"] = True
        keys["intermediate_size"] = first(card, Mlp).intermediate_size
    if experts is None:
        return keys
    return keys | {
        "num_experts": experts.num_experts,
        "top_k_experts": experts.num_experts_per_tok,
        "moe_intermediate_size": experts.intermediate_size,
    }
