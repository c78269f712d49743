"""GLM-4.1V and GLM-4.5V: a tower of gated layers, its patches merged by a convolution."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface import moe
from llmcalc.catalog.huggingface.classes import layer_norm, linear, tensor
from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.multimodal import tied
from llmcalc.catalog.huggingface.parts import Body, attention, block, mlp, rotary_dim, uniform
from llmcalc.catalog.huggingface.towers import Tensors, transformer, vision, width_heads


def glm4v(c: Config) -> Body:
    """GLM-4 with biases of queries, keys and values."""
    t = c.section("text_config")
    t.agrees("head_dim", t.size("hidden_size") // t.size("num_attention_heads"))
    part = attention(t, qkv_bias=True, rotary_dim=rotary_dim(t, 0.5))
    one = block(part, mlp(t), norms=4, placement="sandwich")
    return tied(c, t, uniform(t, one), either=True) | {"towers": _tower(c)}


def glm4v_moe(c: Config) -> Body:
    """GLM-4.5 with experts."""
    t = c.section("text_config")
    return tied(c, t, moe.glm4_moe(t), either=True) | {"towers": _tower(c)}


def _tower(c: Config) -> Tensors:
    """Learned positions, RMSNorms, layers as wide inside as the language model."""
    v = c.section("vision_config")
    width, heads = width_heads(v)
    side, merge, out = v.size("patch_size"), v.size("spatial_merge_size"), v.size("out_hidden_size")
    frames, inner = v.size("temporal_patch_size"), v.size("intermediate_size")
    positions = (v.size("image_size") // side) ** 2
    extra = [
        tensor("patch_embed.weight", width, v.size("in_channels"), frames, side, side),
        tensor("patch_embed.bias", width),
        tensor("position_embedding.weight", positions, width),
        tensor("post_conv_layernorm.weight", width),
        tensor("downsample.weight", out, width, merge, merge),
        tensor("downsample.bias", out),
        *linear("merger.proj", out, out, bias=False),
        *layer_norm("merger.post_projection_norm", out),
        *linear("merger.gate_proj", inner, out, bias=False),
        *linear("merger.up_proj", inner, out, bias=False),
        *linear("merger.down_proj", out, inner, bias=False),
    ]
    part = {"num_heads": heads, "qkv_bias": v.flag("attention_bias")}
    more: dict[str, Any] = {"hidden_size": width, "norm": "rms", "extra": extra}
    stack = transformer(v, part, {"intermediate_size": out}, **more)
    return vision(stack, merged=merge**2)
