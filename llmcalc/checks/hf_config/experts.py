"""Configs of mixtures of experts, over grouped-query and over latent attention."""

from __future__ import annotations

from llmcalc.checks.hf_config.dense import biased, plain
from llmcalc.checks.hf_config.facts import (
    Keys,
    NotExpressibleError,
    base,
    dense_before,
    every,
    first,
    heads,
    latent,
    layers,
    shared_experts,
    sparse,
    wide,
    windows,
)
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe


def mixtral(card: ModelCard) -> Keys:
    """Experts of intermediate_size on every layer."""
    part = first(card, Moe)
    return plain(card) | {
        "intermediate_size": part.intermediate_size,
        "num_local_experts": part.num_experts,
        "num_experts_per_tok": part.num_experts_per_tok,
        "sliding_window": first(card, Attention).window,
    }


def granitemoe(card: ModelCard) -> Keys:
    """The same with a flag for biases and no window."""
    keys = mixtral(card) | biased(card)
    return {key: value for key, value in keys.items() if key != "sliding_window"}


def phimoe(card: ModelCard) -> Keys:
    """The same with biases of attention and of the head."""
    return mixtral(card) | biased(card) | {"lm_head_bias": card.head_bias}


def gpt_oss(card: ModelCard) -> Keys:
    """The same with layers that slide by turns."""
    return mixtral(card) | biased(card) | windows(card)


def minimax_m2(card: ModelCard) -> Keys:
    """Mixtral without a window."""
    return {key: value for key, value in mixtral(card).items() if key != "sliding_window"}


def _routed(card: ModelCard, experts: str = "num_experts") -> Keys:
    """Experts of a width of their own."""
    part = first(card, Moe)
    return {
        experts: part.num_experts,
        "num_experts_per_tok": part.num_experts_per_tok,
        "moe_intermediate_size": part.intermediate_size,
    }


def _step(card: ModelCard) -> Keys:
    """Experts on each layer, for classes that could leave some out."""
    return {
        "decoder_sparse_step": 1,
        "mlp_only_layers": [i for i, one in enumerate(sparse(card)) if not one],
    }


def qwen2_moe(card: ModelCard) -> Keys:
    """One gated shared expert."""
    shared = {"shared_expert_intermediate_size": first(card, Moe).shared_intermediate_size}
    bias = {"qkv_bias": first(card, Attention).qkv_bias}
    keys = {key: value for key, value in heads(card).items() if key != "head_dim"}
    return base(card) | keys | wide(card) | _routed(card) | _step(card) | shared | bias


def qwen3_moe(card: ModelCard) -> Keys:
    """No shared expert."""
    return biased(card) | _routed(card) | _step(card)


def hunyuan_v1_moe(card: ModelCard) -> Keys:
    """The shared expert is as wide as a routed one."""
    part = first(card, Moe)
    if shared_experts(part) != 1:
        raise NotExpressibleError("more or fewer than one shared expert")
    return biased(card) | {
        "intermediate_size": part.intermediate_size,
        "num_experts": part.num_experts,
        "moe_topk": part.num_experts_per_tok,
    }


def glm4_moe(card: ModelCard) -> Keys:
    """Dense layers first; a flag for biases of queries, keys and values."""
    attention = first(card, Attention)
    return plain(card) | _routed(card, "n_routed_experts") | {
        "attention_bias": attention.qkv_bias,
        "use_qk_norm": attention.qk_norm is not None,
        "n_shared_experts": shared_experts(first(card, Moe)),
        "first_k_dense_replace": dense_before(card),
    }  # fmt: skip


def dots1(card: ModelCard) -> Keys:
    """Dense layers first; norms of queries and keys always."""
    return plain(card) | _routed(card, "n_routed_experts") | {
        "n_shared_experts": shared_experts(first(card, Moe)),
        "first_k_dense_replace": dense_before(card),
    }  # fmt: skip


def ernie4_5_moe(card: ModelCard) -> Keys:
    """Keys of its own names."""
    part = first(card, Moe)
    return plain(card) | {
        "moe_num_experts": part.num_experts,
        "moe_k": part.num_experts_per_tok,
        "moe_intermediate_size": part.intermediate_size,
        "moe_num_shared_experts": shared_experts(part),
        "moe_layer_start_index": dense_before(card),
        "moe_layer_end_index": -1,
        "moe_layer_interval": 1,
    }


def llama4_text(card: ModelCard) -> Keys:
    """Experts beside a shared one as wide; dense layers of a width of their own."""
    part, dense = first(card, Moe), next(iter(every(card, Mlp)), None)
    turns = [int(one.rotary_dim != 0) for one in every(card, Attention)]
    chunk = next((one.window for one in every(card, Attention) if one.window), None)
    return biased(card) | {
        "intermediate_size": part.intermediate_size,
        "intermediate_size_mlp": dense.intermediate_size if dense else 16384,
        "num_local_experts": part.num_experts,
        "num_experts_per_tok": part.num_experts_per_tok,
        "moe_layers": [i for i, one in enumerate(sparse(card)) if one],
        "no_rope_layers": turns,
        "attention_chunk_size": chunk,
        "layer_types": [
            "chunked_attention" if one.window else "full_attention"
            for one in every(card, Attention)
        ],
    }


def mimo_v2_flash(card: ModelCard) -> Keys:
    """Sliding layers with twice the key heads, which the class works out itself."""
    world = next(one for one in every(card, Attention) if one.window is None)
    keys = base(card) | wide(card) | heads(card, world) | windows(card)
    return keys | _routed(card, "n_routed_experts") | {
        "v_head_dim": world.v_head_dim,
        "attention_bias": world.qkv_bias,
        "mlp_layer_types": ["sparse" if one else "dense" for one in sparse(card)],
    }  # fmt: skip


def deepseek_v3(card: ModelCard) -> Keys:
    """Latent attention; dense layers first, shared experts beside the routed ones."""
    keys = base(card) | latent(card) | wide(card) | _routed(card, "n_routed_experts")
    return keys | {
        "n_shared_experts": shared_experts(first(card, Moe)),
        "first_k_dense_replace": dense_before(card),
        "attention_bias": False,
    }


def deepseek_v32(card: ModelCard) -> Keys:
    """The same with an indexer."""
    indexer = first(card, LatentAttention).indexer
    if indexer is None:
        raise NotExpressibleError("latent attention without an indexer")
    return deepseek_v3(card) | {
        "index_n_heads": indexer.num_heads,
        "index_head_dim": indexer.head_dim,
        "index_topk": indexer.topk,
    }


def longcat_flash(card: ModelCard) -> Keys:
    """Two attentions and two dense parts a layer."""
    part, depth = first(card, Moe), len(layers(card))
    keys = {key: value for key, value in base(card).items() if key != "num_hidden_layers"}
    return keys | latent(card) | {
        "num_layers": depth,
        "ffn_hidden_size": first(card, Mlp).intermediate_size,
        "expert_ffn_hidden_size": part.intermediate_size,
        "n_routed_experts": part.num_experts,
        "zero_expert_num": part.zero_experts,
        "moe_topk": part.num_experts_per_tok,
    }  # fmt: skip


def glm4_moe_lite(card: ModelCard) -> Keys:
    """The same, with a list of the layers that have experts."""
    keys = {
        key: value for key, value in deepseek_v3(card).items() if key != "first_k_dense_replace"
    }
    return keys | {"mlp_layer_types": ["sparse" if one else "dense" for one in sparse(card)]}


def minicpm3(card: ModelCard) -> Keys:
    """Latent attention before dense parts."""
    return base(card) | latent(card) | wide(card) | {"mlp_bias": first(card, Mlp).bias}


def qwen3_5_moe_text(card: ModelCard) -> Keys:
    """Experts with one gated shared one on every layer."""
    shared = first(card, Moe).shared_intermediate_size
    return _routed(card) | {"shared_expert_intermediate_size": shared}
