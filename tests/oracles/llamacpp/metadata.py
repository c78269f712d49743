"""What a converter writes of a card into the header of a GGUF file."""

from __future__ import annotations

from typing import Any

from llmcalc.spec.card import Block, ModelCard
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe
from llmcalc.spec.recurrent import GatedDeltaNet, KimiDelta, Mamba1, Mamba2
from tests.oracles.llamacpp.shapes import heads, layers

Facts = dict[str, Any]

ALWAYS: Facts = {
    "attention.layer_norm_epsilon": 1e-5, "attention.layer_norm_rms_epsilon": 1e-5,
    "rope.freq_base": 10000.0, "attention.max_alibi_bias": 8.0,
}  # fmt: skip
"""Keys that some architectures want and none minds; no value of them changes a size."""

SPECIAL: dict[str, Facts] = {
    "deepseek2": {"expert_gating_func": 2, "expert_weights_scale": 1.0},
    "glm4moe": {"expert_gating_func": 2}, "minimax-m2": {"expert_gating_func": 2},
    "kimi-linear": {"expert_gating_func": 2, "expert_weights_scale": 1.0},
    "mimo2": {"expert_gating_func": 2}, "llama4": {"interleave_moe_layer_step": 1},
    "ernie4_5-moe": {"interleave_moe_layer_step": 1},
    "command-r": {"logit_scale": 1.0}, "cohere2": {"logit_scale": 1.0},
    "gemma4": {"embedding_length_per_layer_input": 0},
    "bert": {"pooling_type": 1, "attention.causal": False},
    "granitehybrid": {"attention.scale": 1.0, "rope.scaling.finetuned": False},
    "grok": {"logit_scale": 1.0}, "modern-bert": {"attention.causal": False},
    "minicpm3": {"attention.scale": 1.0}, "nemotron_h_moe": {"expert_weights_scale": 1.0},
    "gptneox": {"use_parallel_residual": True},
    "granite": {"logit_scale": 1.0}, "granitemoe": {"logit_scale": 1.0, "attention.scale": 1.0},
    "qwen2vl": {"rope.dimension_sections": [16, 24, 24, 0]},
    "qwen3vl": {"rope.dimension_sections": [24, 20, 20, 0], "n_deepstack_layers": 3},
    "qwen3vlmoe": {"rope.dimension_sections": [24, 20, 20, 0], "n_deepstack_layers": 3},
    "qwen35": {"rope.dimension_sections": [11, 11, 10, 0]},
    "qwen35moe": {"rope.dimension_sections": [11, 11, 10, 0]},
}  # fmt: skip


def metadata(card: ModelCard, arch: str) -> Facts:
    """Keys without the architecture's prefix."""
    blocks = layers(card, arch)
    facts: Facts = {
        "block_count": len(blocks), "embedding_length": card.hidden_size,
        "context_length": card.max_position_embeddings or 1 << 20, "vocab_size": card.vocab_size,
    } | ALWAYS | SPECIAL.get(arch, {})  # fmt: skip
    facts |= _attention(card, blocks, arch) | _feed_forward(blocks) | _recurrent(blocks)
    if arch == "arctic":
        facts["feed_forward_length"] = facts["expert_feed_forward_length"]
    if arch == "bert":
        facts["tokenizer.ggml.token_type_count"] = card.embedding.types
    if arch == "qwen3next" or arch.startswith("qwen35"):
        full = [any(isinstance(one, Attention) for one in block.parts) for block in blocks]
        facts["full_attention_interval"] = full.index(True) + 1
        facts["attention.head_count_kv"] = max(facts["attention.head_count_kv"])
    return facts


def _alike(values: list[int]) -> int | list[int]:
    return values[0] if len(set(values)) == 1 else values


def _attention(card: ModelCard, blocks: list[Block], arch: str) -> Facts:
    found = [
        next((one for one in block.parts if isinstance(one, (Attention, LatentAttention))), None)
        for block in blocks
    ]
    plain = [one for one in found if isinstance(one, Attention)]
    latent = next((one for one in found if isinstance(one, LatentAttention)), None)
    counts = [one.num_heads if one else 0 for one in found]
    facts: Facts = {"attention.head_count": _alike(counts) if arch == "deci" else max(counts)}
    if latent:
        facts |= _latent(latent, found, arch)
    elif plain:
        facts["attention.head_count_kv"] = _alike(
            [heads(one, card.hidden_size)[1] if isinstance(one, Attention) else 0 for one in found]
        )
        full = [one for one in plain if not one.window] or plain
        local = [one for one in plain if one.window]
        _, _, d_k, d_v = heads(full[0], card.hidden_size)
        facts |= {"attention.key_length": d_k, "attention.value_length": d_v}
        facts["rope.dimension_count"] = full[0].rotary_dim or d_k
        if local:
            facts |= _windows(card, local[0], found, arch)
    return facts


def _windows(card: ModelCard, local: Attention, found: list[Any], arch: str) -> Facts:
    _, _, d_k, d_v = heads(local, card.hidden_size)
    facts: Facts = {}
    if arch == "llama4":
        return {"attention.chunk_size": local.window}
    facts["attention.sliding_window"] = local.window
    facts |= {"attention.key_length_swa": d_k, "attention.value_length_swa": d_v}
    facts["rope.dimension_count_swa"] = local.rotary_dim or d_k
    if arch in ("mimo2", "gemma4"):
        facts["attention.sliding_window_pattern"] = [bool(one.window) for one in found]
    return facts


def _latent(part: LatentAttention, found: list[Any], arch: str) -> Facts:
    d_n, d_r, r = part.qk_nope_head_dim, part.qk_rope_head_dim, part.kv_lora_rank
    facts: Facts = {
        "attention.kv_lora_rank": r, "rope.dimension_count": d_r,
        "attention.head_count_kv": _alike([1 if one else 0 for one in found]),
        "attention.key_length": r + d_r, "attention.value_length": r,
        "attention.key_length_mla": d_n + d_r, "attention.value_length_mla": part.v_head_dim,
        "attention.head_count": part.num_heads,
    }  # fmt: skip
    if part.q_lora_rank:
        facts["attention.q_lora_rank"] = part.q_lora_rank
    if arch == "minicpm3":
        facts |= {"attention.key_length": d_n + d_r, "attention.value_length": part.v_head_dim}
        facts["attention.head_count_kv"] = part.num_heads
    if part.indexer:
        facts |= {"attention.indexer.head_count": part.indexer.num_heads}
        facts |= {"attention.indexer.key_length": part.indexer.head_dim}
        facts |= {"attention.indexer.top_k": part.indexer.topk}
    return facts


def _feed_forward(blocks: list[Block]) -> Facts:
    dense = [
        next((one.intermediate_size for one in block.parts if isinstance(one, Mlp)), 0)
        for block in blocks
    ]
    experts = [[one for one in block.parts if isinstance(one, Moe)] for block in blocks]
    first = next((one[0] for one in experts if one), None)
    if first is None:
        return {"feed_forward_length": _alike(dense)}
    widths = [size or (first.intermediate_size if one else 0)
              for size, one in zip(dense, experts, strict=True)]  # fmt: skip
    return {
        "feed_forward_length": _alike([size for size in dense if size] or widths)
        if len({size for size in dense if size}) == 1 and 0 not in widths else _alike(widths),
        "expert_count": first.num_experts, "expert_used_count": first.num_experts_per_tok,
        "expert_feed_forward_length": first.intermediate_size,
        "expert_shared_feed_forward_length": first.shared_intermediate_size,
        "expert_shared_count": max(1, first.shared_intermediate_size // first.intermediate_size)
        if first.shared_intermediate_size else 0,
        "leading_dense_block_count": next(i for i, one in enumerate(experts) if one),
        **({"moe_latent_size": first.latent_size} if first.latent_size else {}),
    }  # fmt: skip


def _recurrent(blocks: list[Block]) -> Facts:
    for block in blocks:
        for part in block.parts:
            if isinstance(part, Mamba1):
                return _ssm(part.conv_kernel, part.intermediate_size, part.state_size,
                            part.dt_rank, 0)  # fmt: skip
            if isinstance(part, Mamba2):
                inner = part.num_heads * part.head_dim
                return _ssm(part.conv_kernel, inner, part.state_size, part.num_heads,
                            part.n_groups)  # fmt: skip
            if isinstance(part, GatedDeltaNet):
                inner = part.num_v_heads * part.head_v_dim
                return _ssm(part.conv_kernel, inner, part.head_k_dim, part.num_v_heads,
                            part.num_k_heads)  # fmt: skip
            if isinstance(part, KimiDelta):
                return {"ssm.conv_kernel": part.conv_kernel, "kda.head_dim": part.head_dim}
    return {}


def _ssm(kernel: int, inner: int, state: int, rank: int, groups: int) -> Facts:
    return {
        "ssm.conv_kernel": kernel, "ssm.inner_size": inner, "ssm.state_size": state,
        "ssm.time_step_rank": rank, "ssm.group_count": groups,
    }  # fmt: skip
