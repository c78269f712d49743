"""Gemma 3n: embeddings for each layer, shared caches, towers that see and hear."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.classes import tensor
from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.conformer import conformer
from llmcalc.catalog.huggingface.multimodal import tied
from llmcalc.catalog.huggingface.parts import (
    SLIDING,
    Block,
    Body,
    attention,
    biased,
    block,
    body,
    every,
    layer_types,
    mlp,
    sliding_window,
)
from llmcalc.catalog.huggingface.towers import Stack, Tensors

ACTS = ("hidden_activation", "hidden_act")
SCALED = {"scale": "sqrt_hidden"}
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
        feed = mlp(c, size, acts=ACTS)
        blocks[name] = with_extra(
            block(part, feed, norms=7, placement="sandwich"), _gemma3n_layer(c, altup)
        )
        names.append(name)
    width, others = c.size("hidden_size"), altup - 1
    extra = per_layer_tables(c, count)
    if others:
        extra += [tensor("altup_projections", others, width, width)]
        extra += [tensor("altup_unembed_projections", others, width, width)]
    return body(c, names, blocks, embedding=SCALED, extra=extra)


def with_extra(one: Block, extra: Tensors) -> Block:
    """The block with tensors of its own, if there are any."""
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
        *per_layer_input(c, c.size("hidden_size_per_layer_input")),
    ]


def per_layer_input(c: Config, narrow: int) -> Tensors:
    """What brings a layer's own embedding of the token in."""
    width = c.size("hidden_size")
    return [
        tensor("per_layer_input_gate", narrow, width),
        tensor("per_layer_projection", width, narrow),
    ]


def per_layer_tables(c: Config, count: int) -> Tensors:
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
        {
            "name": "audio", "modality": "audio", "stack": _gemma3n_audio(a, width),
            "patches_per_token": a.size("conf_reduction_factor"),
        },
    ]  # fmt: skip
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
    a.value("conf_residual_weight")
    for key, only in (
        ("input_feat_size", 128),
        ("sscp_conv_channel_size", [128, 32]),
        ("sscp_conv_kernel_size", [[3, 3], [3, 3]]),
        ("sscp_conv_stride_size", [[2, 2], [2, 2]]),
    ):
        a.fixed(key, only=only)
    depth, heads = a.size("conf_num_hidden_layers"), a.size("conf_num_attention_heads")
    extra = _embedder(a, width)
    return conformer(a, (depth, heads, a.size("conf_conv_kernel_size")), (128, 32), extra)
