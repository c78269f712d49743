"""Configs of state-space models, of linear attention and of their hybrids."""

from __future__ import annotations

from llmcalc.checks.hf_config.dense import biased, plain
from llmcalc.checks.hf_config.experts import qwen3_5_moe_text as routed
from llmcalc.checks.hf_config.facts import (
    Keys,
    NotExpressibleError,
    base,
    biases,
    ends,
    every,
    first,
    heads,
    latent,
    layers,
    maybe,
    shared_experts,
    sparse,
    wide,
)
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe
from llmcalc.spec.recurrent import GatedDeltaNet, KimiDelta, Mamba1, Mamba2, RwkvChannel, RwkvTime

FULL, LINEAR = "full_attention", "linear_attention"


def kinds(card: ModelCard) -> list[str]:
    """Softmax or linear attention for every layer."""
    soft = (Attention, LatentAttention)
    return [
        FULL if any(isinstance(part, soft) for part in block.parts) else LINEAR
        for block in layers(card)
    ]


def mamba(card: ModelCard) -> Keys:
    """One state-space mixer a layer."""
    part = first(card, Mamba1)
    return base(card) | {
        "intermediate_size": part.intermediate_size,
        "expand": part.intermediate_size // card.hidden_size,
        "state_size": part.state_size,
        "time_step_rank": part.dt_rank,
        "conv_kernel": part.conv_kernel,
        "use_conv_bias": part.conv_bias,
        "use_bias": part.bias,
    }


def mamba2(card: ModelCard) -> Keys:
    """One state-space mixer a layer, in heads."""
    part = first(card, Mamba2)
    return base(card) | {
        "num_heads": part.num_heads,
        "head_dim": part.head_dim,
        "expand": part.num_heads * part.head_dim // card.hidden_size,
        "state_size": part.state_size,
        "n_groups": part.n_groups,
        "conv_kernel": part.conv_kernel,
        "use_conv_bias": part.conv_bias,
        "use_bias": part.bias,
    }


def rwkv(card: ModelCard) -> Keys:
    """Time mixing and channel mixing."""
    keys = {key: value for key, value in base(card).items() if key != "max_position_embeddings"}
    return keys | {
        "context_length": card.max_position_embeddings,
        "attention_hidden_size": first(card, RwkvTime).attention_hidden_size or card.hidden_size,
        "intermediate_size": first(card, RwkvChannel).intermediate_size,
    }


def jamba(card: ModelCard) -> Keys:
    """Attention and experts each at a fixed place within a period."""
    part, experts = first(card, Mamba1), maybe(card, Moe)
    keys = {key: value for key, value in plain(card).items() if key != "head_dim"}
    full = [one == FULL for one in kinds(card)]
    size = (experts or first(card, Mlp)).intermediate_size
    return keys | _period("attn_layer", full) | _period("expert_layer", sparse(card)) | {
        "intermediate_size": size,
        "num_experts": experts.num_experts if experts else 1,
        "num_experts_per_tok": experts.num_experts_per_tok if experts else 1,
        "mamba_expand": part.intermediate_size // card.hidden_size,
        "mamba_d_state": part.state_size,
        "mamba_dt_rank": part.dt_rank,
        "mamba_d_conv": part.conv_kernel,
        "mamba_conv_bias": part.conv_bias,
        "mamba_proj_bias": part.bias,
    }  # fmt: skip


def _period(key: str, told: list[bool]) -> Keys:
    """The distance between layers of a kind, and where the first stands."""
    at = [i for i, one in enumerate(told) if one]
    if not at:
        return {f"{key}_period": len(told) + 1, f"{key}_offset": len(told)}
    period = at[1] - at[0] if len(at) > 1 else len(told)
    if told != [i % period == at[0] for i in range(len(told))]:
        raise NotExpressibleError(f"{key}s that do not stand at even distances")
    return {f"{key}_period": period, f"{key}_offset": at[0]}


def _mamba_2(card: ModelCard) -> Keys:
    """The mixer of hybrids whose keys begin with mamba_."""
    part = first(card, Mamba2)
    return {
        "mamba_n_heads": part.num_heads,
        "mamba_d_head": part.head_dim,
        "mamba_expand": part.num_heads * part.head_dim // card.hidden_size,
        "mamba_d_state": part.state_size,
        "mamba_n_groups": part.n_groups,
        "mamba_d_conv": part.conv_kernel,
        "mamba_conv_bias": part.conv_bias,
        "mamba_proj_bias": part.bias,
    }


def bamba(card: ModelCard) -> Keys:
    """Attention at the layers that a list names."""
    keys = {key: value for key, value in biased(card).items() if key != "head_dim"}
    at = [i for i, one in enumerate(kinds(card)) if one == FULL]
    bias = first(card, Mlp).bias
    return keys | _mamba_2(card) | {"attn_layer_indices": at, "mlp_bias": bias}


def granitemoehybrid(card: ModelCard) -> Keys:
    """Mamba-2 or attention, then an MLP, or experts beside one."""
    keys = {key: value for key, value in biased(card).items() if key != "head_dim"}
    types = ["attention" if one == FULL else "mamba" for one in kinds(card)]
    keys |= _mamba_2(card) | {"layer_types": types}
    experts = maybe(card, Moe)
    if experts is None:
        shared = first(card, Mlp).intermediate_size
        return keys | {"num_local_experts": 0, "shared_intermediate_size": shared}
    return keys | {
        "intermediate_size": experts.intermediate_size,
        "shared_intermediate_size": experts.shared_intermediate_size,
        "num_local_experts": experts.num_experts,
        "num_experts_per_tok": experts.num_experts_per_tok,
    }


def falcon_h1(card: ModelCard) -> Keys:
    """Mamba-2 and attention side by side: two blocks of a card make one layer."""
    part = first(card, Mamba2)
    return biased(card) | _mamba_2(card) | {
        "num_hidden_layers": len(every(card, Mamba2)),
        "mamba_d_ssm": part.num_heads * part.head_dim,
        "mamba_rms_norm": part.gated_norm,
        "mlp_bias": first(card, Mlp).bias,
        "projectors_bias": part.bias,
    }  # fmt: skip


def nemotron_h(card: ModelCard) -> Keys:
    """One part a layer."""
    part, experts = first(card, Mamba2), maybe(card, Moe)
    words = {"mamba2": "mamba", "attn": "attention", "mlp": "mlp", "moe": "moe"}
    listed = [words[block.parts[0].kind] for block in layers(card)]
    keys = plain(card) | {
        "layers_block_type": listed,
        "mamba_num_heads": part.num_heads,
        "mamba_head_dim": part.head_dim,
        "ssm_state_size": part.state_size,
        "n_groups": part.n_groups,
        "conv_kernel": part.conv_kernel,
        "use_conv_bias": part.conv_bias,
        "use_bias": part.bias,
    }
    if experts is None:
        return keys
    return keys | {
        "n_routed_experts": experts.num_experts,
        "num_experts_per_tok": experts.num_experts_per_tok,
        "moe_intermediate_size": experts.intermediate_size,
        "moe_shared_expert_intermediate_size": experts.shared_intermediate_size,
        "moe_latent_size": experts.latent_size,
    }


def _delta(card: ModelCard) -> Keys:
    """Gated delta nets, whose keys begin with linear_."""
    part = first(card, GatedDeltaNet)
    return {
        "layer_types": kinds(card),
        "linear_num_key_heads": part.num_k_heads,
        "linear_num_value_heads": part.num_v_heads,
        "linear_key_head_dim": part.head_k_dim,
        "linear_value_head_dim": part.head_v_dim,
        "linear_conv_kernel_dim": part.conv_kernel,
    }


def qwen3_next(card: ModelCard) -> Keys:
    """Delta nets and gated attention, experts on every layer."""
    return plain(card) | _delta(card) | routed(card) | {"decoder_sparse_step": 1}


def qwen3_5_text(card: ModelCard) -> Keys:
    """Delta nets and gated attention before dense parts."""
    return plain(card) | _delta(card)


def qwen3_5_moe_text(card: ModelCard) -> Keys:
    """Delta nets and gated attention before experts."""
    return plain(card) | _delta(card) | routed(card)


def olmo_hybrid(card: ModelCard) -> Keys:
    """Delta nets and attention as in OLMo 2."""
    keys = {key: value for key, value in plain(card).items() if key != "head_dim"}
    return keys | biases(card) | _delta(card)


def kimi_linear(card: ModelCard) -> Keys:
    """Kimi delta attention and latent attention."""
    delta, experts = first(card, KimiDelta), first(card, Moe)
    keys = {key: value for key, value in ends(card).items() if key != "max_position_embeddings"}
    return keys | latent(card) | wide(card) | {
        "num_hidden_layers": len(layers(card)),
        "model_max_length": card.max_position_embeddings,
        "layer_types": kinds(card),
        "mlp_layer_types": ["sparse" if one else "dense" for one in sparse(card)],
        "linear_num_heads": delta.num_heads,
        "linear_head_dim": delta.head_dim,
        "linear_conv_kernel_dim": delta.conv_kernel,
        "num_experts": experts.num_experts,
        "num_experts_per_token": experts.num_experts_per_tok,
        "moe_intermediate_size": experts.intermediate_size,
        "num_shared_experts": shared_experts(experts),
    }  # fmt: skip


def minimax(card: ModelCard) -> Keys:
    """Lightning attention and softmax attention, experts on every layer."""
    experts = first(card, Moe)
    return base(card) | heads(card) | {
        "layer_types": kinds(card),
        "intermediate_size": experts.intermediate_size,
        "num_local_experts": experts.num_experts,
        "num_experts_per_tok": experts.num_experts_per_tok,
    }  # fmt: skip
