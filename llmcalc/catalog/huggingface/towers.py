"""Vision transformers as stacks of a card: what turns an image into tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llmcalc.catalog.huggingface.classes import layer_norm, linear, tensor
from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.parts import activation, block, said

Stack = dict[str, Any]
Tensors = list[dict[str, Any]]


def vision(stack: Stack, *projector: dict[str, Any], merged: int = 1) -> Tensors:
    """The one tower of a card, with the projector to the language model among its tensors.

    `merged` are the patches that become one token of the language model.
    """
    extra = [*stack.get("extra", []), *projector]
    one = {"name": "vision", "modality": "vision", "patches_per_token": merged}
    return [one | {"stack": stack | {"extra": extra}}]


def shuffled(c: Config, key: str) -> int:
    """Patches that a pixel shuffle folds into one token: `key` is what each side shrinks to."""
    ratio = c.value(key)
    if type(ratio) not in (int, float) or not 0.01 <= ratio <= 1:  # noqa: PLR2004 (absurd ratios)
        raise c.wrong(key, "a number from 0.01 to 1")
    return int(1 / ratio) ** 2


def width_heads(v: Config, key: str = "hidden_size") -> tuple[int, int]:
    """Width and heads, which must divide it."""
    width, heads = v.size(key), v.size("num_attention_heads")
    if width % heads:
        raise v.bad(f"{key} {width} does not divide by {heads} attention heads")
    v.agrees("head_dim", width // heads)
    v.value("tie_word_embeddings")  # a tower has no head
    return width, heads


def transformer(v: Config, part: dict[str, Any], feed: dict[str, Any], **more: Any) -> Stack:
    """Layers alike of one attention and one feed-forward part; `more` are keys of the stack."""
    depth, extra = v.layer_count(), more.pop("layer_extra", None)
    acts = more.pop("acts", ())
    one = block({"attn": said(part)}, {"mlp": feed | activation(v, *acts)})
    name = more.pop("called", "vit")
    blocks = {name: one | ({"extra": extra} if extra else {})}
    return {"blocks": blocks, "layers": [f"{depth}*{name}" if depth > 1 else name]} | more


def plain(v: Config, width: int, heads: int, size: int, **more: Any) -> Stack:
    """LayerNorm, biases everywhere, a feed-forward part without gate."""
    part = {"num_heads": heads, "qkv_bias": True, "o_bias": True}
    feed = {"intermediate_size": size, "gated": False, "bias": True}
    return transformer(v, part, feed, **{"hidden_size": width, "norm": "layer"} | more)


def patches(v: Config) -> tuple[int, int]:
    """Side of a patch, and patches of an image of the one size."""
    side, size = v.size("patch_size"), v.size("image_size")
    return side, (size // side) ** 2


def siglip(v: Config) -> Stack:
    """SigLIP (arXiv:2303.15343): patches and positions, no class token, a pooling head or none."""
    width, heads = width_heads(v)
    side, count = patches(v)
    size = v.size("intermediate_size")
    extra = [
        tensor("patch_embedding.weight", width, v.size("num_channels"), side, side),
        tensor("patch_embedding.bias", width),
        tensor("position_embedding.weight", count, width),
    ]
    if v.flag("vision_use_head"):
        extra += [tensor("head.probe", width)]
        extra += linear("head.attention.in_proj", 3 * width, width)
        extra += linear("head.attention.out_proj", width, width)
        extra += layer_norm("head.layernorm", width)
        extra += linear("head.mlp.fc1", size, width) + linear("head.mlp.fc2", width, size)
    return plain(v, width, heads, size, length=count, extra=extra)


def clip(v: Config) -> Stack:
    """CLIP (arXiv:2103.00020): a class token before the patches, a norm before the layers."""
    for key in ("vocab_size", "projection_dim"):
        v.value(key)  # of its text model and of the projection that only CLIP itself has
    width, heads = width_heads(v)
    side, count = patches(v)
    extra = [
        tensor("class_embedding", width),
        tensor("patch_embedding.weight", width, v.size("num_channels"), side, side),
        tensor("position_embedding.weight", count + 1, width),
        *layer_norm("pre_layrnorm", width),
    ]
    return plain(v, width, heads, v.size("intermediate_size"), length=count + 1, extra=extra)


def pixtral(v: Config) -> Stack:
    """Pixtral (arXiv:2410.07073): a small LLaMA without causal mask and without a last norm."""
    width, heads = width_heads(v)
    v.value("image_size")
    side = v.size("patch_size")
    extra = [
        tensor("patch_conv.weight", width, v.size("num_channels"), side, side),
        tensor("ln_pre.weight", width),
    ]
    more = {"hidden_size": width, "norm": "rms", "final_norm": False, "extra": extra}
    feed = {"intermediate_size": v.size("intermediate_size")}
    return transformer(v, {"num_heads": heads}, feed, **more)


def internvl(v: Config) -> Stack:
    """InternViT: a scale for what each part adds, norms and biases by flags."""
    width, heads = width_heads(v)
    norm = {"layer_norm": "layer", "rms_norm": "rms"}.get(v.word("norm_type") or "")
    if norm is None:
        raise v.wrong("norm_type", "layer_norm or rms_norm")
    if v.flag("use_qk_norm") and norm != "rms":
        raise v.bad("use_qk_norm with layer_norm is not understood", "write a card by hand")
    v.value("layer_scale_init_value")
    high, wide = _pair(v, "image_size")
    side, across = _pair(v, "patch_size")
    count = (high // side) * (wide // across)
    extra = [
        tensor("cls_token", width),
        tensor("patch_embeddings.weight", width, v.size("num_channels"), side, across),
        tensor("patch_embeddings.bias", width),
    ]
    if v.flag("use_absolute_position_embeddings"):
        extra += [tensor("position_embeddings", count + 1, width)]
    if v.flag("use_mask_token"):
        extra += [tensor("mask_token", width)]
    part: dict[str, Any] = {"num_heads": heads, "o_bias": True}
    part |= {"qkv_bias": v.flag("attention_bias")}
    part |= {"qk_norm": "full" if v.flag("use_qk_norm") else None}
    feed = {"intermediate_size": v.size("intermediate_size"), "gated": False, "bias": True}
    scales = [tensor("lambda_1", width), tensor("lambda_2", width)]
    more = {"hidden_size": width, "norm": norm, "length": count + 1, "extra": extra}
    more["final_norm"] = False
    if not v.flag("use_mean_pooling"):
        extra += layer_norm("layernorm", width)  # with a shift, whatever the norm of the layers
    return transformer(v, part, feed, layer_extra=scales, **more)


def _pair(v: Config, key: str) -> tuple[int, int]:
    """Two sizes, or one for both."""
    value = v.value(key)
    if isinstance(value, list):
        match v.numbers(key):
            case [int(first), int(second)] if 0 < first <= 2**16 and 0 < second <= 2**16:
                return first, second
        raise v.wrong(key, "one or two sizes")
    return v.size(key), v.size(key)


def idefics3(v: Config) -> Stack:
    """SigLIP without its head; images may be smaller than its table of positions."""
    width, heads = width_heads(v)
    side, count = patches(v)
    extra = [
        tensor("patch_embedding.weight", width, v.size("num_channels"), side, side),
        tensor("patch_embedding.bias", width),
        tensor("position_embedding.weight", count, width),
    ]
    return plain(v, width, heads, v.size("intermediate_size"), extra=extra)


TOWERS: dict[str, Callable[[Config], Stack]] = {
    "siglip_vision_model": siglip,
    "clip_vision_model": clip,
    "pixtral": pixtral,
    "internvl_vision": internvl,
}
"""Towers that a composite chooses by model_type."""


def tower(c: Config) -> Stack:
    """The stack of vision_config, whose model_type is one of TOWERS."""
    v = c.section("vision_config")
    kind = v.value("model_type")
    if not isinstance(kind, str) or kind not in TOWERS:
        raise v.wrong("model_type", f"one of {', '.join(TOWERS)}")
    return TOWERS[kind](v)
