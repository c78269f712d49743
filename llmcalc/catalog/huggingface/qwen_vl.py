"""Qwen with vision: towers whose patches are merged four to one by a small MLP."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface import dense
from llmcalc.catalog.huggingface import moe as experts
from llmcalc.catalog.huggingface.classes import layer_norm, linear, tensor
from llmcalc.catalog.huggingface.config import Config, class_defaults
from llmcalc.catalog.huggingface.linear import (
    delta,
    gated_attention,
    hybrid_kinds,
    state_dtype,
)
from llmcalc.catalog.huggingface.multimodal import tied
from llmcalc.catalog.huggingface.parts import (
    FULL,
    Body,
    attention,
    biased,
    block,
    body,
    mlp,
    moe,
    uniform,
)
from llmcalc.catalog.huggingface.towers import (
    Tensors,
    plain,
    transformer,
    vision,
    width_heads,
)


def qwen2_vl(c: Config) -> Body:
    """Qwen2 behind a tower of LayerNorms; published files write the text keys beside the others."""
    t, v = _flat_text(c), c.section("vision_config")
    width, heads = width_heads(v, "embed_dim")
    ratio = v.size("mlp_ratio")
    extra = [_patches(v, width)]
    stack = plain(v, width, heads, width * ratio, final_norm=False, extra=extra)
    merger = [*layer_norm("merger.ln_q", width), *_merged(v, width, v.size("hidden_size"))]
    return _text(c, t) | {"towers": vision(stack, *merger, merged=_together(v))}


def qwen2_5_vl(c: Config) -> Body:
    """Qwen2 behind a tower of RMSNorms and gated layers, most of which look at windows."""
    t, v = _flat_text(c), c.section("vision_config")
    for key in ("tokens_per_second", "window_size", "fullatt_block_indexes"):
        v.value(key)
    width, heads = width_heads(v)
    part = {"num_heads": heads, "qkv_bias": True, "o_bias": True}
    feed = {"intermediate_size": v.size("intermediate_size"), "bias": True}
    more: dict[str, Any] = {"hidden_size": width, "norm": "rms", "final_norm": False}
    stack = transformer(v, part, feed, extra=[_patches(v, width)], **more)
    merger = [tensor("merger.ln_q.weight", width), *_merged(v, width, v.size("out_hidden_size"))]
    return _text(c, t) | {"towers": vision(stack, *merger, merged=_together(v))}


def _text(c: Config, t: Config) -> Body:
    """Qwen2, whose heads divide hidden_size here."""
    t.agrees("head_dim", t.size("hidden_size") // t.size("num_attention_heads"))
    return tied(c, t, dense.qwen2(t), either=True)


def _flat_text(c: Config) -> Config:
    """The language model: of text_config, or of the keys beside vision_config in its place."""
    if c.says("text_config"):
        return c.section("text_config")
    kind = f"{c.value('model_type')}_text"
    known = {*class_defaults()["types"][kind]["defaults"], "head_dim", "use_cache"}
    inside = {key: c.value(key) for key in c.written() if key in known}
    c.value("text_config")
    return c.use_section("text_config", inside | {"model_type": kind})


def _patches(v: Config, width: int) -> dict[str, Any]:
    """The convolution that makes patches of a few frames."""
    channels, side = v.size("in_channels"), v.size("patch_size")
    v.agrees("in_chans", channels)
    v.agrees("spatial_patch_size", side)
    frames = v.size("temporal_patch_size")
    return tensor("patch_embed.weight", width, channels, frames, side, side)


def _together(v: Config) -> int:
    """Patches that stand together and become one token."""
    return v.size("spatial_merge_size") ** 2


def _merged(v: Config, width: int, out: int) -> Tensors:
    """Two layers over patches that stand together."""
    folded = width * _together(v)
    return [*linear("merger.mlp.0", folded, folded), *linear("merger.mlp.2", out, folded)]


def qwen3_vl(c: Config) -> Body:
    """Qwen3 behind a tower that feeds its early layers too."""
    t = c.section("text_config")
    one = block(attention(t, qk_norm="head", **biased(t)), mlp(t))
    return tied(c, t, uniform(t, one)) | {"towers": _tower(c)}


def qwen3_vl_moe(c: Config) -> Body:
    """Qwen3 with experts behind the same tower."""
    t = c.section("text_config")
    return tied(c, t, experts.qwen3_moe(t)) | {"towers": _tower(c)}


def _tower(c: Config, *, deep: bool = True) -> Tensors:
    """Learned positions, and a merger at the end and (`deep`) at each of the layers named."""
    v = c.section("vision_config")
    width, heads = width_heads(v)
    folded, out = width * _together(v), v.size("out_hidden_size")
    extra = [
        _patches(v, width),
        tensor("patch_embed.bias", width),
        tensor("pos_embed.weight", v.size("num_position_embeddings"), width),
    ]
    stack = plain(v, width, heads, v.size("intermediate_size"), final_norm=False, extra=extra)
    mergers = _merger("merger", width, folded, out)
    listed = v.numbers("deepstack_visual_indexes") or []
    for number in range(len(listed) if deep else 0):
        mergers += _merger(f"deepstack_merger.{number}", folded, folded, out)
    if listed and not deep:
        raise v.bad("deepstack_visual_indexes is not understood here", "its class has none")
    return vision(stack, *mergers, merged=_together(v))


def _merger(name: str, normed: int, folded: int, out: int) -> Tensors:
    """A norm before or after folding, then two layers."""
    first = linear(f"{name}.linear_fc1", folded, folded)
    return [*layer_norm(f"{name}.norm", normed), *first, *linear(f"{name}.linear_fc2", out, folded)]


def qwen3_5(c: Config) -> Body:
    """Gated delta nets with gated attention at each fourth layer, behind a tower."""
    t = c.section("text_config")
    c.fixed("language_model_only", only=False)
    return tied(c, t, qwen3_5_text(t)) | {"towers": _tower(c, deep=False)}


def qwen3_5_moe(c: Config) -> Body:
    """The same with experts after each layer."""
    t = c.section("text_config")
    c.fixed("language_model_only", only=False)
    return tied(c, t, qwen3_5_moe_text(t)) | {"towers": _tower(c, deep=False)}


def qwen3_5_text(c: Config) -> Body:
    """The language model of Qwen3.5 alone."""
    return _hybrid(c, mlp(c))


def qwen3_5_moe_text(c: Config) -> Body:
    """The language model of Qwen3.5 with experts, all of them beside a gated shared one."""
    shared = c.size("shared_expert_intermediate_size")
    more = {"shared_intermediate_size": shared, "shared_gate": True}
    size, top_k = c.size("moe_intermediate_size"), c.size("num_experts_per_tok")
    return _hybrid(c, moe(c, c.size("num_experts"), top_k, size, **more))


def _hybrid(c: Config, feed: dict[str, Any]) -> Body:
    c.value("output_gate_type")
    mixer = delta(c)
    mixer["gated_deltanet"] |= state_dtype(c, "mamba_ssm_dtype")
    c.fixed("mlp_only_layers", only=[])
    c.fixed("mtp_use_dedicated_embeddings", only=False)
    kinds = hybrid_kinds(c)
    blocks = {"linear": block(mixer, feed), "full": block(gated_attention(c), feed)}
    heads = c.count("mtp_num_hidden_layers") if c.says("mtp_num_hidden_layers") else 0
    more = {"mtp": {"layers": heads, "block": "full"}} if heads and FULL in kinds else {}
    return body(c, ["full" if one == FULL else "linear" for one in kinds], blocks, **more)
