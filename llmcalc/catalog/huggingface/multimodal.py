"""Language models with a vision transformer before them, joined by a projector."""

from __future__ import annotations

from math import isqrt
from typing import Any

from llmcalc.catalog.huggingface import dense, moe, towers
from llmcalc.catalog.huggingface.classes import layer_norm, linear, tensor
from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.parts import Body, activation
from llmcalc.catalog.huggingface.towers import (
    Tensors,
    patches,
    plain,
    shuffled,
    tower,
    vision,
    width_heads,
)

_DENSE = """llama mistral ministral3 qwen2 qwen3 gemma gemma2 gemma3_text phi3 cohere cohere2 olmo2
smollm3""".split()  # noqa: SIM905 (a table)
_MOE = ("mixtral", "qwen2_moe", "qwen3_moe", "gpt_oss")
TEXTS = {name: getattr(dense, name) for name in _DENSE} | {
    name: getattr(moe, name) for name in _MOE
}
"""Language models that a composite chooses by model_type; the head is its own, without bias."""


def text(c: Config) -> tuple[Config, Body]:
    """The language model of text_config, whose model_type is one of TEXTS."""
    c.value("ignore_index")
    if c.says("text_config"):
        for key in ("vocab_size", "hidden_size"):
            c.value(key)  # older files repeat them, the class looks inside
    t = c.section("text_config")
    kind = t.value("model_type")
    if not isinstance(kind, str) or kind not in TEXTS:
        raise t.wrong("model_type", f"one of {', '.join(TEXTS)}")
    return t, TEXTS[kind](t)


def tied(c: Config, t: Config, body: Body, *, either: bool = False) -> Body:
    """The body with its head tied as the whole says; `either`: or as the language model says.

    Releases of before transformers 5 wrote it for the language model alone: where only that one
    is there and the class of today would do otherwise, the file has to say which holds.
    """
    key = "tie_word_embeddings"
    whole, inner = c.flag(key), t.flag(key)
    if not (either or c.says(key)) and whole != inner and (whole or t.says(key)):
        message = f"{key} is missing, and text_config and its class differ about it"
        raise c.bad(message, f"say {key} beside text_config")
    rest = {key: value for key, value in body.get("embedding", {}).items() if key != "tied"}
    embedding = ({"tied": True} if whole or (either and inner) else {}) | rest
    others = {key: value for key, value in body.items() if key != "embedding"}
    return others | ({"embedding": embedding} if embedding else {})


def gemma3(c: Config) -> Body:
    """Gemma 3 behind SigLIP; squares of patches are averaged, a norm and one matrix lead over."""
    tokens = c.size("mm_tokens_per_image")
    t = c.section("text_config")
    body, stack = dense.gemma3_text(t), tower(c)
    width = stack["hidden_size"]
    over = [tensor("mm_input_projection_weight", width, t.size("hidden_size"))]
    over += [tensor("mm_soft_emb_norm.weight", width)]
    _, count = patches(c.section("vision_config"))
    side = max(1, isqrt(count) // isqrt(tokens))  # of a square; images too small have none
    return tied(c, t, body) | {"towers": vision(stack, *over, merged=side**2)}


def llava(c: Config) -> Body:
    """LLaVA 1.5 (arXiv:2310.03744): two layers lead over."""
    t, body = text(c)
    stack = tower(c)
    return tied(c, t, body, either=True) | {"towers": vision(stack, *_two_layers(c, t, stack))}


def llava_next(c: Config) -> Body:
    """LLaVA-NeXT: LLaVA with a learned line break between rows of tiles."""
    c.value("image_grid_pinpoints")
    c.value("use_image_newline_parameter")
    t, body = text(c)
    stack = tower(c)
    over = [*_two_layers(c, t, stack), tensor("image_newline", t.size("hidden_size"))]
    return tied(c, t, body) | {"towers": vision(stack, *over)}


def _two_layers(c: Config, t: Config, stack: dict[str, Any]) -> Tensors:
    """A projector of two layers, from one layer of the tower or from several side by side."""
    for key in ("vision_feature_select_strategy", "image_seq_length"):
        c.value(key)
    activation(c, "projector_hidden_act")
    width, bias = t.size("hidden_size"), c.flag("multimodal_projector_bias")
    rows = stack["hidden_size"] * _features(c)
    over = linear("projector.linear_1", width, rows, bias=bias)
    return over + linear("projector.linear_2", width, width, bias=bias)


def _features(c: Config) -> int:
    """How many layers of the tower the projector sees."""
    layers = c.value("vision_feature_layer")
    if isinstance(layers, list) and layers:
        return len(c.numbers("vision_feature_layer") or ())
    if type(layers) is not int:
        raise c.wrong("vision_feature_layer", "the number of a layer, or a list of them")
    return 1


def mistral3(c: Config) -> Body:
    """Mistral Small 3.1 behind Pixtral: patches are merged before two layers lead over."""
    t, body = text(c)
    stack = tower(c)
    width, merge = stack["hidden_size"], c.size("spatial_merge_size")
    over = [tensor("projector.norm.weight", width)]
    over += [tensor("projector.merging_layer.weight", width, width * merge**2)]
    over += _two_layers(c, t, stack)
    return tied(c, t, body) | {"towers": vision(stack, *over, merged=merge**2)}


def internvl(c: Config) -> Body:
    """InternVL: patches are folded together, normed and led over by two layers."""
    for key in ("vision_feature_select_strategy", "image_seq_length", "vision_feature_layer"):
        c.value(key)
    t, body = text(c)
    stack, width = tower(c), t.size("hidden_size")
    merged = shuffled(c, "downsample_ratio")
    activation(c, "projector_hidden_act")
    folded = stack["hidden_size"] * merged
    over = layer_norm("projector.layer_norm", folded)
    over += linear("projector.linear_1", width, folded)
    over += linear("projector.linear_2", width, width)
    return tied(c, t, body) | {"towers": vision(stack, *over, merged=merged)}


def paligemma(c: Config) -> Body:
    """Gemma behind SigLIP (arXiv:2407.07726); one matrix leads over."""
    for key in ("hidden_size", "vocab_size", "num_image_tokens"):
        c.value(key)
    t, body = text(c)
    t.value("num_image_tokens")
    stack = tower(c)
    c.section("vision_config").value("num_image_tokens")
    c.section("vision_config").value("projection_dim")
    over = linear("projector.linear", c.size("projection_dim"), stack["hidden_size"])
    return tied(c, t, body) | {"towers": vision(stack, *over)}


def idefics3(c: Config) -> Body:
    """Idefics3 (arXiv:2408.12637): patches are folded together, one matrix leads over."""
    t, v = c.section("text_config"), c.section("vision_config")
    for key in ("qk_layer_norms", "use_resampler"):
        t.fixed(key, only=False)
    for key in ("pixel_shuffle_factor", "perceiver_config", "num_vision_tokens", "pad_token_id"):
        t.value(key)
    v.fixed("use_base_siglip", only=False)
    for key in ("size", "max_image_size", "tie_word_embeddings"):
        v.value(key)
    t, body = text(c)
    stack, merged = towers.idefics3(v), c.size("scale_factor") ** 2
    folded = stack["hidden_size"] * merged
    over = linear("connector.proj", t.size("hidden_size"), folded, bias=False)
    return tied(c, t, body) | {"towers": vision(stack, *over, merged=merged)}


smolvlm = idefics3


def cohere2_vision(c: Config) -> Body:
    """Command A Vision: patches are folded together and led over by a gated layer."""
    t, body = text(c)
    stack, inner = tower(c), c.size("alignment_intermediate_size")
    merged = c.size("downsample_factor") ** 2
    over = linear("projector.linear_1", inner, stack["hidden_size"] * merged)
    over += linear("projector.linear_2", t.size("hidden_size"), inner // 2)
    return tied(c, t, body) | {"towers": vision(stack, *over, merged=merged)}


def llama4(c: Config) -> Body:
    """Llama 4 with its own vision transformer and adapter."""
    t, v = c.section("text_config"), c.section("vision_config")
    c.value("tie_word_embeddings")  # the class heeds that of text_config alone
    width, heads = width_heads(v)
    side, size = v.size("patch_size"), v.size("image_size")
    count = (size // side) ** 2 + 1
    for key in ("vision_feature_layer", "vision_feature_select_strategy", "rope_theta"):
        v.value(key)
    merged = shuffled(v, "pixel_shuffle_ratio")
    v.fixed("multi_modal_projector_bias", only=False)
    inner, out = v.size("projector_input_dim"), v.size("projector_output_dim")
    extra = [
        tensor("class_embedding", width),
        tensor("positional_embedding_vlm", count, width),
        tensor("patch_embedding.weight", width, v.size("num_channels") * side**2),
        *layer_norm("layernorm_pre", width),
        *linear("vision_adapter.fc1", inner, v.size("intermediate_size"), bias=False),
        *linear("vision_adapter.fc2", out, out, bias=False),
        *linear(
            "projector.linear_1", t.size("hidden_size"), v.size("vision_output_dim"), bias=False
        ),
    ]
    stack = plain(v, width, heads, v.size("intermediate_size"), length=count, extra=extra)
    return moe.llama4_text(t) | {"towers": vision(stack, merged=merged)}


def aya_vision(c: Config) -> Body:
    """Aya Vision: patches are folded together, normed and led over by a gated layer."""
    for key in ("vision_feature_layer", "vision_feature_select_strategy"):
        c.value(key)
    t, body = text(c)
    stack, width = tower(c), t.size("hidden_size")
    merged = c.size("downsample_factor") ** 2
    folded = stack["hidden_size"] * merged
    said = c.value("alignment_intermediate_size") is not None
    inner = c.size("alignment_intermediate_size") if said else width
    over = layer_norm("projector.layernorm", folded)
    over += linear("projector.linear_1", inner, folded)
    over += linear("projector.linear_2", width, inner // 2)
    return tied(c, t, body) | {"towers": vision(stack, *over, merged=merged)}
