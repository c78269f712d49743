"""The tensors of one layer of a card, under llama.cpp's names, with shapes as torch has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llmcalc.spec.card import Block, ModelCard
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe, Part
from llmcalc.spec.pattern import layer_names
from llmcalc.spec.recurrent import GatedDeltaNet, KimiDelta, Mamba1, Mamba2

Shapes = dict[str, tuple[int, ...]]

FUSED_QKV = ("gpt2", "gptneox", "bloom", "mpt", "falcon", "phi3", "chatglm", "starcoder")
"""Architectures whose converter writes queries, keys and values as one tensor."""

FUSED_GATE = ("phi3", "chatglm", "glm4", "modern-bert")
"""Architectures whose converter writes gate and up as one tensor."""

SANDWICH = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
NORMS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("gemma2", "gemma3", "glm4", "gemma4"), SANDWICH),
    **dict.fromkeys(("olmo2", "exaone4"), ("post_attention_norm", "post_ffw_norm")),
    **dict.fromkeys(
        ("gpt-oss", "glm4moe", "qwen3next", "qwen35", "qwen35moe"),
        ("attn_norm", "post_attention_norm"),
    ),
    "bert": ("attn_output_norm", "layer_output_norm"),
    "arctic": ("attn_norm", "ffn_norm", "ffn_norm_exps"),
    "grok": ("attn_norm", "attn_output_norm", "ffn_norm", "layer_output_norm"),
    "olmo": (),
}
"""Names of the hidden-size norms of a block, in order; elsewhere attn_norm and ffn_norm."""


def layer(card: ModelCard, arch: str, block: Block) -> Shapes:
    """All tensors of one block: its norms and its parts."""
    d = card.hidden_size
    names = NORMS.get(arch, ("attn_norm", "ffn_norm"))
    if arch == "deci" and block.norms == 1:
        names = ("ffn_norm",)
    if arch == "falcon" and block.norms == 2:
        names = ("attn_norm", "attn_norm_2")
    found: Shapes = {}
    for name in names[: block.norms]:
        found |= norm(card, name, d)
    for part in block.parts:
        found |= TENSORS[type(part)](part, d, arch)
    if arch == "falcon-h1":  # the engine looks this one up without the suffix
        found["ffn_norm"] = found.pop("ffn_norm.weight")
    return found


def layers(card: ModelCard, arch: str) -> list[Block]:
    """The blocks as llama.cpp counts layers: Falcon-H1's mixers and MLP are one."""
    blocks = [card.blocks[name] for name in layer_names(card.layers)]
    if arch != "falcon-h1":
        return blocks
    return [
        Block(parts=(*mixer.parts, *mlp.parts), norms=2)
        for mixer, mlp in zip(blocks[::2], blocks[1::2], strict=True)
    ]


def norm(card: ModelCard, name: str, size: int) -> Shapes:
    """The weight of a norm, and its bias where the card's norms have one."""
    if card.norm == "none":
        return {}
    bias = {f"{name}.bias": (size,)} if card.norm == "layer" else {}
    return {f"{name}.weight": (size,)} | bias


def heads(part: Attention, d: int) -> tuple[int, int, int, int]:
    """Query heads, key heads, and the sizes of a key and of a value head."""
    d_k = part.head_dim or d // part.num_heads
    return part.num_heads, part.num_kv_heads or part.num_heads, d_k, part.v_head_dim or d_k


def _attention(part: Attention, d: int, arch: str) -> Shapes:
    h, h_kv, d_k, d_v = heads(part, d)
    rows = {"q": h * d_k * (2 if part.output_gate else 1), "k": h_kv * d_k, "v": h_kv * d_v}
    if part.k_eq_v:
        del rows["v"]
    if arch in FUSED_QKV:
        rows = {"qkv": sum(rows.values())}
    found: Shapes = {f"attn_{name}.weight": (size, d) for name, size in rows.items()}
    if part.qkv_bias:
        found |= {f"attn_{name}.bias": (size,) for name, size in rows.items()}
    found["attn_output.weight"] = (d, h * d_v)
    if part.o_bias:
        found["attn_output.bias"] = (d,)
    if part.qk_norm == "head":
        found |= {"attn_q_norm.weight": (d_k,), "attn_k_norm.weight": (d_k,)}
    if part.qk_norm == "full":
        q, k = ((h, d_k), (h_kv, d_k)) if arch == "command-r" else ((h * d_k,), (h_kv * d_k,))
        found |= {"attn_q_norm.weight": q, "attn_k_norm.weight": k}
    if part.sinks:
        found["attn_sinks.weight"] = (h,)
    return found


def _latent(part: LatentAttention, d: int, arch: str) -> Shapes:
    h, r, d_r = part.num_heads, part.kv_lora_rank, part.qk_rope_head_dim
    d_n, d_v, d_q = part.qk_nope_head_dim, part.v_head_dim, part.qk_nope_head_dim + d_r
    found: Shapes = {
        "attn_kv_a_mqa.weight": (r + d_r, d),
        "attn_kv_a_norm.weight": (r,),
        "attn_output.weight": (d, h * d_v),
    }
    if arch == "minicpm3":
        found["attn_kv_b.weight"] = (h * (d_n + d_v), r)
    else:
        found |= {"attn_k_b.weight": (h, r, d_n), "attn_v_b.weight": (h, d_v, r)}
    if part.q_lora_rank is None:
        return found | {"attn_q.weight": (h * d_q, d)}
    r_q = part.q_lora_rank
    found |= {"attn_q_a.weight": (r_q, d), "attn_q_a_norm.weight": (r_q,)}
    found["attn_q_b.weight"] = (h * d_q, r_q)
    if part.indexer:
        h_i, d_i = part.indexer.num_heads, part.indexer.head_dim
        found |= {"indexer.k_norm.weight": (d_i,), "indexer.k_norm.bias": (d_i,)}
        found |= {"indexer.proj.weight": (h_i, d), "indexer.attn_k.weight": (d_i, d)}
        found["indexer.attn_q_b.weight"] = (h_i * d_i, r_q)
    return found


def _mlp(part: Mlp, d: int, arch: str) -> Shapes:
    ff = part.intermediate_size
    if arch in FUSED_GATE:
        return {"ffn_up.weight": (2 * ff, d), "ffn_down.weight": (d, ff)}
    found: Shapes = {"ffn_up.weight": (ff, d), "ffn_down.weight": (d, ff)}
    if part.gated:
        found["ffn_gate.weight"] = (ff, d)
    if part.bias:
        found |= {"ffn_up.bias": (ff,), "ffn_down.bias": (d,)}
    return found


def _moe(part: Moe, d: int, arch: str) -> Shapes:
    e, ff, width = part.num_experts, part.intermediate_size, part.latent_size or d
    found: Shapes = {"ffn_gate_inp.weight": (e, d)}
    found |= {"ffn_up_exps.weight": (e, ff, width), "ffn_down_exps.weight": (e, width, ff)}
    if part.gated:
        found["ffn_gate_exps.weight"] = (e, ff, width)
    if part.expert_bias:
        found |= {"ffn_up_exps.bias": (e, ff), "ffn_gate_exps.bias": (e, ff)}
        found["ffn_down_exps.bias"] = (e, d)
    if part.router_bias:
        found["ffn_gate_inp.bias"] = (e,)
    if part.correction_bias or arch == "ernie4_5-moe":
        found["exp_probs_b.bias"] = (e,)
    if part.latent_size:
        found |= {"ffn_latent_down.weight": (width, d), "ffn_latent_up.weight": (d, width)}
    if ff := part.shared_intermediate_size:
        found |= {"ffn_up_shexp.weight": (ff, d), "ffn_down_shexp.weight": (d, ff)}
        if part.gated:
            found["ffn_gate_shexp.weight"] = (ff, d)
    if part.shared_gate:
        found["ffn_gate_inp_shexp.weight"] = (d,)
    return found


def _mamba1(part: Mamba1, d: int, _arch: str) -> Shapes:
    inner, n, r = part.intermediate_size, part.state_size, part.dt_rank
    found: Shapes = {
        "ssm_in.weight": (2 * inner, d), "ssm_conv1d.weight": (inner, part.conv_kernel),
        "ssm_conv1d.bias": (inner,), "ssm_x.weight": (r + 2 * n, inner),
        "ssm_dt.weight": (inner, r), "ssm_dt.bias": (inner,), "ssm_a": (inner, n),
        "ssm_d": (inner,), "ssm_out.weight": (d, inner),
    }  # fmt: skip
    if part.inner_norms:
        found |= {"ssm_dt_norm.weight": (r,), "ssm_b_norm.weight": (n,)}
        found["ssm_c_norm.weight"] = (n,)
    return found


def _mamba2(part: Mamba2, d: int, _arch: str) -> Shapes:
    h, groups, inner = part.num_heads, part.n_groups, part.num_heads * part.head_dim
    channels = inner + 2 * groups * part.state_size
    found: Shapes = {
        "ssm_in.weight": (inner + channels + h, d),
        "ssm_conv1d.weight": (channels, part.conv_kernel), "ssm_conv1d.bias": (channels,),
        "ssm_dt.bias": (h,), "ssm_a": (h, 1), "ssm_d": (h, 1), "ssm_out.weight": (d, inner),
    }  # fmt: skip
    if part.gated_norm:
        found["ssm_norm.weight"] = (groups, inner // groups)
    return found


def _deltanet(part: GatedDeltaNet, d: int, arch: str) -> Shapes:
    h_v = part.num_v_heads
    values, keys = h_v * part.head_v_dim, part.num_k_heads * part.head_k_dim
    found: Shapes = {
        "attn_qkv.weight": (2 * keys + values, d), "attn_gate.weight": (values, d),
        "ssm_conv1d.weight": (2 * keys + values, part.conv_kernel), "ssm_dt.bias": (h_v,),
        "ssm_a": (h_v,), "ssm_norm.weight": (part.head_v_dim,), "ssm_out.weight": (d, values),
    }  # fmt: skip
    if arch == "qwen3next":
        return found | {"ssm_ba.weight": (2 * h_v, d)}
    return found | {"ssm_beta.weight": (h_v, d), "ssm_alpha.weight": (h_v, d)}


def _kimi(part: KimiDelta, d: int, _arch: str) -> Shapes:
    h, d_h = part.num_heads, part.head_dim
    inner = h * d_h
    found: Shapes = {f"attn_{name}.weight": (inner, d) for name in "qkv"}
    found |= {f"ssm_conv1d_{name}.weight": (inner, 1, part.conv_kernel) for name in "qkv"}
    for name in ("ssm_f", "ssm_g"):
        found |= {f"{name}_a.weight": (d_h, d), f"{name}_b.weight": (inner, d_h)}
    return found | {
        "ssm_beta.weight": (h, d), "ssm_a": (h, 1), "ssm_dt.bias": (inner,),
        "ssm_norm.weight": (d_h,), "attn_output.weight": (d, inner),
    }  # fmt: skip


TENSORS: dict[type[Part], Callable[[Any, int, str], Shapes]] = {
    Attention: _attention,
    LatentAttention: _latent,
    Mlp: _mlp,
    Moe: _moe,
    Mamba1: _mamba1,
    Mamba2: _mamba2,
    GatedDeltaNet: _deltanet,
    KimiDelta: _kimi,
}
