"""Gemma 3n and Gemma 4: embeddings for each layer, shared caches, towers that see and hear."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.classes import linear, tensor
from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.conformer import conformer
from llmcalc.catalog.huggingface.multimodal import tied
from llmcalc.catalog.huggingface.parts import (
    FULL,
    SLIDING,
    Block,
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
from llmcalc.catalog.huggingface.towers import Stack, Tensors, transformer

_ACTS = ("hidden_activation", "hidden_act")
_SCALED = {"scale": "sqrt_hidden"}
_MOBILENET = 294_126_912
"""mobilenetv5_300m_enc as transformers 5.24.0 builds it from timm 1.0.31."""


def gemma3n_text(c: Config) -> Body:
    """AltUp streams, LAuReL, an embedding for each layer; the last layers reuse earlier caches.

    The class drops the idle key and value weights of those layers, the published files hold them.
    """
    count, altup = c.layer_count(), c.size("altup_num_inputs")
    types = layer_types(c, every(c, 5))
    own = count - c.count("num_kv_shared_layers")
    if own < 1 or set(types[:own]) != set(types):
        raise c.bad("num_kv_shared_layers leaves a kind of attention without a cache")
    for key in ("activation_sparsity_pattern", "altup_active_idx", "altup_coef_clip"):
        c.value(key)
    c.value("altup_correct_scale")  # only whether the scale is used
    sizes, window = _layer_sizes(c, count), sliding_window(c, types)
    names, blocks = [], {}
    for i, (kind, size) in enumerate(zip(types, sizes, strict=True)):
        local = kind == SLIDING
        name = f"{'local' if local else 'global'}{'_reuse' if i >= own else ''}"
        name += f"_{size}" if len(set(sizes)) > 1 else ""
        more = {"window": window if local else None, "kv_reuse": i >= own}
        part = attention(c, qk_norm="head", **biased(c), **more)
        feed = mlp(c, size, acts=_ACTS)
        blocks[name] = _with(
            block(part, feed, norms=7, placement="sandwich"), _gemma3n_layer(c, altup)
        )
        names.append(name)
    width, others = c.size("hidden_size"), altup - 1
    extra = _per_layer_tables(c, count)
    if others:
        extra += [tensor("altup_projections", others, width, width)]
        extra += [tensor("altup_unembed_projections", others, width, width)]
    return body(c, names, blocks, embedding=_SCALED, extra=extra)


def _with(one: Block, extra: Tensors) -> Block:
    return one | ({"extra": extra} if extra else {})


def _layer_sizes(c: Config, count: int) -> list[int]:
    """The width of each layer's feed-forward part, which a list gives one by one."""
    listed = c.value("intermediate_size")
    if not isinstance(listed, list):
        return [c.size("intermediate_size")] * count
    sizes = c.numbers("intermediate_size") or []
    if len(sizes) != count or min(sizes) < 1:
        raise c.wrong("intermediate_size", f"a size for each of {count} layers")
    return sizes


def _gemma3n_layer(c: Config, altup: int) -> Tensors:
    width, rank = c.size("hidden_size"), c.size("laurel_rank")
    return [
        tensor("altup.correct_output_scale", width),
        tensor("altup.correction_coefs", altup, altup),
        tensor("altup.prediction_coefs", altup**2, altup),
        tensor("altup.modality_router", altup, width),
        tensor("laurel.linear_left", rank, width),
        tensor("laurel.linear_right", width, rank),
        *_per_layer_input(c, c.size("hidden_size_per_layer_input")),
    ]


def _per_layer_input(c: Config, narrow: int) -> Tensors:
    width = c.size("hidden_size")
    return [
        tensor("per_layer_input_gate", narrow, width),
        tensor("per_layer_projection", width, narrow),
    ]


def _per_layer_tables(c: Config, count: int) -> Tensors:
    """One table for all layers, and what mixes it with the embedding of the token."""
    narrow, rows = c.size("hidden_size_per_layer_input"), c.size("vocab_size_per_layer_input")
    return [
        tensor("embed_tokens_per_layer", rows, count * narrow),
        tensor("per_layer_model_projection", count * narrow, c.size("hidden_size")),
        tensor("per_layer_projection_norm", narrow),
    ]


def gemma3n(c: Config) -> Body:
    """The same behind MobileNet-V5, which timm builds, and a conformer for sound."""
    for key in ("audio_soft_tokens_per_image", "vision_soft_tokens_per_image"):
        c.value(key)
    t, v, a = (c.section(f"{key}_config") for key in ("text", "vision", "audio"))
    v.fixed("architecture", only="mobilenetv5_300m_enc")
    v.fixed("do_pooling", only=False)
    v.fixed("model_args", only={})
    for key in ("label_names", "num_classes"):
        v.value(key)
    width = t.size("hidden_size")
    seen = sum(_volume(one) for one in _embedder(v, width))
    towers = [
        {"name": "vision", "modality": "vision", "params": _MOBILENET + seen},
        {"name": "audio", "modality": "audio", "stack": _gemma3n_audio(a, width)},
    ]
    notes = "the vision tower is a bare count: MobileNet-V5 as timm builds it, and its embedder"
    return tied(c, t, gemma3n_text(t)) | {"towers": towers, "notes": notes}


def _volume(one: dict[str, Any]) -> int:
    numbers = 1
    for size in one["shape"]:
        numbers *= size
    return numbers


def _embedder(m: Config, width: int) -> Tensors:
    """Tokens of a modality by number or by feature, normed and projected to the text's width."""
    m.value("vocab_offset")
    own = m.size("hidden_size")
    return [
        tensor("embedder.embedding", m.size("vocab_size"), own),
        tensor("embedder.hard_embedding_norm", own),
        tensor("embedder.soft_embedding_norm", own),
        tensor("embedder.embedding_projection", width, own),
    ]


def _gemma3n_audio(a: Config, width: int) -> Stack:
    for key in ("gradient_clipping", "sscp_conv_group_norm_eps"):
        a.value(key)
    for key in ("chunk_size", "context_left", "context_right", "logit_cap"):
        a.value(f"conf_attention_{key}")
    for key in ("conf_reduction_factor", "conf_residual_weight"):
        a.value(key)
    for key, only in (
        ("input_feat_size", 128),
        ("sscp_conv_channel_size", [128, 32]),
        ("sscp_conv_kernel_size", [[3, 3], [3, 3]]),
        ("sscp_conv_stride_size", [[2, 2], [2, 2]]),
    ):
        a.fixed(key, only=only)
    sizes = [a.size(f"conf_{key}") for key in ("num_hidden_layers", "num_attention_heads")]
    extra = _embedder(a, width)
    return conformer(a, *sizes, a.size("conf_conv_kernel_size"), (128, 32), extra)


def gemma4_text(c: Config) -> Body:
    """Wider heads on layers that see all, whose values may be their keys; experts beside an MLP."""
    count = c.layer_count()
    types = layer_types(c, every(c, 6))
    types = [*types[:-1], FULL]
    if c.count("num_kv_shared_layers"):
        hint = "releases hold weights for them that the class leaves out: write a card by hand"
        raise c.bad("num_kv_shared_layers above 0 is not understood", hint)
    if c.value("use_bidirectional_attention") not in (None, "vision"):
        raise c.wrong("use_bidirectional_attention", "vision or null")
    c.value("use_double_wide_mlp")  # of the layers that share, of which there are none
    feeds, narrow = _gemma4_feeds(c), c.count("hidden_size_per_layer_input")
    extra = [*_gemma4_router(c), *(_per_layer_input(c, narrow) if narrow else ())]
    norms = 4 + (3 if c.flag("enable_moe_block") else 0) + (1 if narrow else 0)
    parts = {"local": _gemma4_local(c, types), "global": _gemma4_global(c)}
    blocks = {
        name: _with(block(part, *feeds, norms=norms, placement="sandwich"), extra)
        for name, part in parts.items()
    }
    names = ["local" if one == SLIDING else "global" for one in types]
    c.value("vocab_size_per_layer_input")
    tables = {"extra": _per_layer_tables(c, count)} if narrow else {}
    return body(c, names, blocks, embedding=_SCALED, **tables)


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


def _gemma4_feeds(c: Config) -> list[dict[str, Any]]:
    feeds = [mlp(c, acts=_ACTS)]
    for key in ("num_experts", "top_k_experts", "moe_intermediate_size"):
        c.value(key)
    if not c.flag("enable_moe_block"):
        return feeds
    experts, top_k = c.size("num_experts"), c.size("top_k_experts")
    if top_k > experts:
        raise c.bad(f"a token cannot visit {top_k} of {experts} experts")
    part = {"num_experts": experts, "num_experts_per_tok": top_k}
    part |= {"intermediate_size": c.size("moe_intermediate_size")}
    return [*feeds, {"moe": part | activation(c, *_ACTS)}]


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
        stack = _gemma4_vision(c.section("vision_config"), t.size("hidden_size"))
        towers += [{"name": "vision", "modality": "vision", "stack": stack}]
    if c.value("audio_config") is not None:
        stack = _gemma4_audio(c.section("audio_config"), t.size("hidden_size"))
        towers += [{"name": "audio", "modality": "audio", "stack": stack}]
    return tied(c, t, gemma4_text(t)) | ({"towers": towers} if towers else {})


def _gemma4_vision(v: Config, text_width: int) -> Stack:
    for key in "pooling_kernel_size standardize use_clipped_linears default_output_length".split():  # noqa: SIM905 (a table)
        v.value(key)
    for key in ("image_seq_length", "video_seq_length"):
        v.value(key)
    v.fixed("attention_bias", only=False)
    width, side = v.size("hidden_size"), v.size("patch_size")
    dim, heads = v.size("head_dim"), v.size("num_attention_heads")
    v.agrees("global_head_dim", dim)
    v.agrees("num_key_value_heads", heads)
    extra = [
        tensor("position_embedding_table", 2, v.size("position_embedding_size"), width),
        tensor("input_proj", width, 3 * side**2),
        tensor("embedding_projection", text_width, width),
    ]
    part = {"num_heads": heads, "qk_norm": "head"}
    part |= {} if dim * heads == width else {"head_dim": dim}
    feed = {"intermediate_size": v.size("intermediate_size")}
    more: dict[str, Any] = {"hidden_size": width, "norm": "rms", "final_norm": False}
    stack = transformer(v, part, feed, acts=_ACTS, extra=extra, **more)
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
    sizes = [a.size(key) for key in ("num_hidden_layers", "num_attention_heads")]
    return conformer(a, *sizes, a.size("conv_kernel_size"), channels, extra)


