"""Gemma 4: wider heads where all is seen, experts beside an MLP, towers that see and hear."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.classes import linear, tensor
from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.conformer import conformer
from llmcalc.catalog.huggingface.gemma_n import (
    ACTS,
    SCALED,
    per_layer_input,
    per_layer_tables,
    with_extra,
)
from llmcalc.catalog.huggingface.multimodal import tied
from llmcalc.catalog.huggingface.parts import (
    FULL,
    SLIDING,
    Body,
    activation,
    attention,
    biased,
    block,
    body,
    every,
    layer_types,
    mlp,
    sliding_window,
)
from llmcalc.catalog.huggingface.towers import Stack, Tensors, transformer, vision


def gemma4_text(c: Config) -> Body:
    """Wider heads on layers that see all, whose values may be their keys; experts beside an MLP.

    The class drops the idle key and value weights of the last layers, the published files hold
    them.
    """
    count = c.layer_count()
    types = layer_types(c, every(c, 6))
    types = [*types[:-1], FULL]
    own = count - _gemma4_shared(c, types)
    if c.value("use_bidirectional_attention") not in (None, "vision"):
        raise c.wrong("use_bidirectional_attention", "vision or null")
    narrow = c.count("hidden_size_per_layer_input")
    extra = [*_gemma4_router(c), *(per_layer_input(c, narrow) if narrow else ())]
    norms = 4 + (3 if c.flag("enable_moe_block") else 0) + (1 if narrow else 0)
    wider = 2 if c.flag("use_double_wide_mlp") else 1
    parts = {"local": _gemma4_local(c, types), "global": _gemma4_global(c)}
    inside = {name: [part, *_gemma4_feeds(c)] for name, part in parts.items()}
    for name, part in parts.items():
        reusing = {"attn": part["attn"] | {"kv_reuse": True}}
        inside[f"{name}_reuse"] = [reusing, *_gemma4_feeds(c, wider)]
    blocks = {
        name: with_extra(block(*some, norms=norms, placement="sandwich"), extra)
        for name, some in inside.items()
    }
    names = ["local" if one == SLIDING else "global" for one in types]
    names = [*names[:own], *(f"{one}_reuse" for one in names[own:])]
    c.value("vocab_size_per_layer_input")
    tables = {"extra": per_layer_tables(c, count)} if narrow else {}
    return body(c, names, blocks, embedding=SCALED, **tables)


def _gemma4_shared(c: Config, types: list[str]) -> int:
    """How many of the last layers read the caches of earlier ones, of which each kind has some."""
    shared = c.count("num_kv_shared_layers")
    if not shared:
        return 0
    for key in ("attention_k_eq_v", "enable_moe_block"):
        if c.flag(key):
            raise c.bad(f"num_kv_shared_layers above 0 with {key} is not understood")
    if not c.says("layer_types"):  # published files have other patterns than the class's default
        raise c.bad("layer_types is missing, which num_kv_shared_layers needs", "add layer_types")
    own = types[: len(types) - shared]
    if shared >= len(types) or set(own) != set(types):
        raise c.bad("num_kv_shared_layers leaves a kind of attention without a cache")
    return shared


def _gemma4_local(c: Config, types: list[str]) -> dict[str, Any]:
    window = sliding_window(c, types)
    return attention(c, qk_norm="head", window=window, **biased(c))


def _gemma4_global(c: Config) -> dict[str, Any]:
    same = c.flag("attention_k_eq_v")
    wide = 512 if c.value("global_head_dim") is None else c.size("global_head_dim")
    few = c.value("num_global_key_value_heads")
    kv = c.size("num_global_key_value_heads") if same and few is not None else None
    part = attention(c, kv_heads=kv, qk_norm="head", k_eq_v=same, **biased(c))["attn"]
    ropes = c.value("rope_parameters")
    rope = ropes.get(FULL) if isinstance(ropes, dict) else None
    factor = 0.25 if ropes is None else (rope or {}).get("partial_rotary_factor", 1)
    if type(factor) not in (int, float) or not 0 <= factor <= 1:
        raise c.wrong("rope_parameters", "of full_attention a partial_rotary_factor from 0 to 1")
    rotary = {} if factor == 1 else {"rotary_dim": int(wide * factor)}
    return {"attn": part | {"head_dim": wide} | rotary}


def _gemma4_feeds(c: Config, wide: int = 1) -> list[dict[str, Any]]:
    feeds = [mlp(c, wide * c.size("intermediate_size"), acts=ACTS)]
    for key in ("num_experts", "top_k_experts", "moe_intermediate_size"):
        c.value(key)
    if not c.flag("enable_moe_block"):
        return feeds
    experts, top_k = c.size("num_experts"), c.size("top_k_experts")
    if top_k > experts:
        raise c.bad(f"a token cannot visit {top_k} of {experts} experts")
    part = {"num_experts": experts, "num_experts_per_tok": top_k}
    part |= {"intermediate_size": c.size("moe_intermediate_size")}
    return [*feeds, {"moe": part | activation(c, *ACTS)}]


def _gemma4_router(c: Config) -> Tensors:
    """Scales of the router's input and of what each expert puts out."""
    if not c.flag("enable_moe_block"):
        return []
    scales = [tensor("router.scale", c.size("hidden_size"))]
    return [*scales, tensor("router.per_expert_scale", c.size("num_experts"))]


def gemma4(c: Config) -> Body:
    """The same behind a vision transformer and a conformer, each where its config is given."""
    for key in ("vision_soft_tokens_per_image", "audio_soft_tokens_per_image"):
        c.value(key)
    t = c.section("text_config")
    towers: Tensors = []
    if c.value("vision_config") is not None:
        v = c.section("vision_config")
        merged = v.size("pooling_kernel_size") ** 2
        towers += vision(_gemma4_vision(v, t.size("hidden_size")), merged=merged)
    if c.value("audio_config") is not None:
        stack = _gemma4_audio(c.section("audio_config"), t.size("hidden_size"))
        towers += [{"name": "audio", "modality": "audio", "stack": stack}]
    return tied(c, t, gemma4_text(t)) | ({"towers": towers} if towers else {})


def _gemma4_vision(v: Config, text_width: int) -> Stack:
    for key in "standardize use_clipped_linears default_output_length".split():  # noqa: SIM905 (a table)
        v.value(key)
    for key in ("image_seq_length", "video_seq_length"):
        v.value(key)
    v.fixed("attention_bias", only=False)
    width, side = v.size("hidden_size"), v.size("patch_size")
    dim, heads = v.size("head_dim"), v.size("num_attention_heads")
    v.agrees("global_head_dim", dim)
    kv = v.maybe_size("num_key_value_heads") or heads
    if heads % kv:
        raise v.bad(f"{heads} attention heads do not divide by {kv} key and value heads")
    v.value("tie_word_embeddings")  # a tower has no head
    extra = [
        tensor("position_embedding_table", 2, v.size("position_embedding_size"), width),
        tensor("input_proj", width, 3 * side**2),
        tensor("embedding_projection", text_width, width),
    ]
    part = {"num_heads": heads, "qk_norm": "head"} | ({} if kv == heads else {"num_kv_heads": kv})
    part |= {} if dim * heads == width else {"head_dim": dim}
    feed = {"intermediate_size": v.size("intermediate_size")}
    more: dict[str, Any] = {"hidden_size": width, "norm": "rms", "final_norm": False}
    stack = transformer(v, part, feed, acts=ACTS, extra=extra, **more)
    for one in stack["blocks"].values():
        one |= {"norms": 4, "placement": "sandwich"}
    return stack


def _gemma4_audio(a: Config, width: int) -> Stack:
    for key in ("gradient_clipping", "residual_weight", "use_clipped_linears"):
        a.value(key)
    for key in "chunk_size context_left context_right logit_cap invalid_logits_value".split():  # noqa: SIM905 (a table)
        a.value(f"attention_{key}")
    match a.numbers("subsampling_conv_channels"):
        case [int(first), int(second)] if first >= 4 and second >= 1:  # noqa: PLR2004 (both convolutions halve)
            channels = (first, second)
        case _:
            raise a.wrong("subsampling_conv_channels", "two sizes")
    own, out = a.size("hidden_size"), a.size("output_proj_dims")
    extra = [*linear("output_proj", out, own), tensor("embedding_projection", width, out)]
    depth, heads = a.size("num_hidden_layers"), a.size("num_attention_heads")
    return conformer(a, (depth, heads, a.size("conv_kernel_size")), channels, extra)
