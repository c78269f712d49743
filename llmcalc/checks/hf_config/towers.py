"""Configs of the towers that models see with."""

from __future__ import annotations

from math import isqrt

from llmcalc.checks.hf_config.facts import (
    Keys,
    NotExpressibleError,
    first,
    has,
    layers,
    shape,
)
from llmcalc.spec.card import ModelCard, Stack
from llmcalc.spec.parts import Attention, Mlp


def tower(card: ModelCard, modality: str = "vision") -> Stack:
    """The stack that sees. Raises NotExpressibleError where the card has a bare count."""
    for one in card.towers:
        if one.modality == modality and one.stack:
            return one.stack
    raise NotExpressibleError(f"no tower of {modality} with layers")


def sizes(stack: Stack) -> Keys:
    """Width, depth, heads and the width inside."""
    return {
        "hidden_size": stack.hidden_size,
        "num_hidden_layers": len(layers(stack)),
        "num_attention_heads": first(stack, Attention).num_heads,
        "intermediate_size": first(stack, Mlp).intermediate_size,
    }


def _square(stack: Stack, *, patch: str, rows: int) -> Keys:
    """Side of a patch, and of the image that `rows` patches fill."""
    side = shape(stack.extra, patch)[-1]
    return {"patch_size": side, "image_size": isqrt(rows) * side}


def clip(stack: Stack) -> Keys:
    """CLIP: one position more than patches."""
    rows = shape(stack.extra, "position_embedding.weight")[0] - 1
    square = _square(stack, patch="patch_embedding.weight", rows=rows)
    return {"model_type": "clip_vision_model"} | sizes(stack) | square


def siglip(stack: Stack) -> Keys:
    """SigLIP: a pooling head where its tensors stand."""
    rows = shape(stack.extra, "position_embedding.weight")[0]
    square = _square(stack, patch="patch_embedding.weight", rows=rows)
    pooled = {"vision_use_head": has(stack.extra, "head.")}
    return {"model_type": "siglip_vision_model"} | sizes(stack) | square | pooled


def internvit(stack: Stack) -> Keys:
    """InternViT."""
    rows = shape(stack.extra, "position_embeddings")[-2] - 1
    part = first(stack, Attention)
    return sizes(stack) | _square(stack, patch="patch_embeddings.weight", rows=rows) | {
        "model_type": "internvl_vision",
        "attention_bias": part.qkv_bias,
        "use_qk_norm": part.qk_norm is not None,
        "norm_type": "layer_norm" if stack.norm == "layer" else "rms_norm",
        "use_absolute_position_embeddings": True,
        "use_mask_token": has(stack.extra, "mask_token"),
        "use_mean_pooling": not stack.final_norm,
    }  # fmt: skip


def pixtral(stack: Stack) -> Keys:
    """Pixtral: rotary positions, so that the size of an image is free."""
    side = shape(stack.extra, "patch_conv.weight")[-1]
    return {"model_type": "pixtral"} | sizes(stack) | {"patch_size": side}


def idefics(stack: Stack) -> Keys:
    """SigLIP without its head."""
    rows = shape(stack.extra, "position_embedding.weight")[0]
    square = _square(stack, patch="patch_embedding.weight", rows=rows)
    return sizes(stack) | square


def conformer(stack: Stack) -> Keys:
    """The conformer that Gemma 4 hears with, whose feed-forward parts are four times as wide."""
    told = sizes(stack)
    if told.pop("intermediate_size") != 4 * (stack.hidden_size or 1):
        raise NotExpressibleError("feed-forward parts of the conformer not four times as wide")
    channels = [shape(stack.extra, f"subsample.conv_{at}")[0] for at in (0, 1)]
    return told | {
        "model_type": "gemma4_audio",
        "conv_kernel_size": shape(layers(stack)[0].extra, "lconv1d.depthwise_conv1d")[2],
        "subsampling_conv_channels": channels,
        "output_proj_dims": shape(stack.extra, "output_proj.weight")[0],
    }


def seer(card: ModelCard) -> Keys:
    """The tower that LLaVA and its kin chose, known by its tensors."""
    stack = tower(card)
    known = {"pre_layrnorm": clip, "patch_conv": pixtral}
    for name, config in known.items():
        if has(stack.extra, name):
            return config(stack)
    return siglip(stack)
