"""Dense models of the LLaMA line, each written as its difference from LLaMA."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.parts import (
    FULL,
    SLIDING,
    Body,
    attention,
    biased,
    block,
    body,
    every,
    layer_types,
    mlp,
    rotary_dim,
    sliding_window,
    uniform,
    windowed,
)

_SCALED = {"scale": "sqrt_hidden"}


def llama(c: Config) -> Body:
    """LLaMA: RMSNorm before each part, rotary positions, SwiGLU, biases by two flags."""
    return uniform(c, block(attention(c, **biased(c)), mlp(c, bias=c.flag("mlp_bias"))))


def mistral(c: Config) -> Body:
    """LLaMA without biases, every layer sliding where sliding_window says so."""
    window = c.length("sliding_window")
    if c.value("sliding_window_size") is not None and c.length("sliding_window_size") != window:
        raise c.bad("sliding_window_size and sliding_window differ", "remove one of them")
    return uniform(c, block(attention(c, window=window), mlp(c)))


def ministral(c: Config) -> Body:
    """Mistral with a kind of attention for each layer."""
    kind = FULL if c.length("sliding_window") is None else SLIDING
    return _by_window(c, [kind] * c.layer_count(), {})


def arcee(c: Config) -> Body:
    """LLaMA with a plain feed-forward part."""
    return uniform(
        c, block(attention(c, **biased(c)), mlp(c, gated=False, bias=c.flag("mlp_bias")))
    )


def nemotron(c: Config) -> Body:
    """Plain squared-ReLU feed-forward, LayerNorm with bias, half of each head rotates."""
    part = attention(c, **biased(c), rotary_dim=rotary_dim(c, 0.5))
    feed = mlp(c, gated=False, bias=c.flag("mlp_bias"))
    return uniform(c, block(part, feed), norm="layer")


def starcoder2(c: Config) -> Body:
    """Plain feed-forward, LayerNorm, one flag for all biases."""
    part = attention(c, **biased(c, "use_bias"), window=c.length("sliding_window"))
    feed = mlp(c, gated=False, bias=c.flag("use_bias"))
    return uniform(c, block(part, feed), norm="layer")


def ernie4_5(c: Config) -> Body:
    """LLaMA with one flag for all biases."""
    feed = mlp(c, bias=c.flag("use_bias"))
    return uniform(c, block(attention(c, **biased(c, "use_bias")), feed))


def seed_oss(c: Config) -> Body:
    """LLaMA with a flag of its own for the bias of the output projection."""
    biases = {"qkv_bias": c.flag("attention_bias"), "o_bias": c.flag("attention_out_bias")}
    return uniform(c, block(attention(c, **biases), mlp(c, bias=c.flag("mlp_bias"))))


def internlm2(c: Config) -> Body:
    """LLaMA in the authors' own code, whose `bias` defaults to true: the file has to say it."""
    for key in ("bias", "tie_word_embeddings", "num_key_value_heads", "max_position_embeddings"):
        if not c.says(key):
            raise c.wrong(key, "since this class lives outside transformers")
    return uniform(c, block(attention(c, **biased(c, "bias")), mlp(c)))


def qwen2(c: Config) -> Body:
    """LLaMA with biases of queries, keys and values alone; windows from max_window_layers on."""
    return _by_window(c, _late_sliding(c), {"qkv_bias": True})


def qwen3(c: Config) -> Body:
    """Qwen2 with a norm over each query and key head; biases of all four projections by a flag."""
    return _by_window(c, _late_sliding(c), {"qk_norm": "head"} | biased(c))


def hunyuan_v1_dense(c: Config) -> Body:
    """LLaMA with a norm over each query and key head."""
    c.fixed("use_qk_norm", only=True)
    return uniform(c, block(attention(c, qk_norm="head", **biased(c)), mlp(c)))


def phi3(c: Config) -> Body:
    """LLaMA without biases; later ones rotate a part of each head."""
    window = c.length("sliding_window")
    return uniform(c, block(attention(c, window=window, rotary_dim=rotary_dim(c)), mlp(c)))


def glm(c: Config) -> Body:
    """LLaMA with biases of queries, keys and values by a flag; half of each head rotates."""
    return uniform(c, block(_glm_attention(c), mlp(c)))


def glm4(c: Config) -> Body:
    """GLM with a norm behind each part as well."""
    return uniform(c, block(_glm_attention(c), mlp(c), norms=4, placement="sandwich"))


def olmo(c: Config) -> Body:
    """LLaMA whose norms have no weights."""
    return uniform(c, block(attention(c, **biased(c)), mlp(c)), norm="none")


def olmo2(c: Config) -> Body:
    """Norms behind the parts, and over all queries and all keys."""
    part = attention(c, qk_norm="full", **biased(c))
    return uniform(c, block(part, mlp(c), placement="output"))


def olmo3(c: Config) -> Body:
    """OLMo 2 with three sliding layers to one."""
    return _by_window(c, every(c, 4), {"qk_norm": "full"} | biased(c), placement="output")


def cohere(c: Config) -> Body:
    """Attention and feed-forward side by side behind one LayerNorm without bias."""
    # The class norms each head apart, with a weight for each head: as many weights as one over all.
    norm = "full" if c.flag("use_qk_norm") else None
    part = attention(c, qk_norm=norm, **biased(c))
    return uniform(c, block(part, mlp(c), norms=1, placement="parallel"), norm="layer_nobias")


def cohere2(c: Config) -> Body:
    """Cohere with three sliding layers to one; the ones that see all do not rotate."""
    period = 4 if c.value("sliding_window_pattern") is None else c.size("sliding_window_pattern")
    types = layer_types(c, every(c, period))
    local, world = (
        block(attention(c, **biased(c), **one), mlp(c), norms=1, placement="parallel")
        for one in ({"window": sliding_window(c, types)}, {"rotary_dim": 0})
    )
    return windowed(c, types, local, world, norm="layer_nobias")


def gemma(c: Config) -> Body:
    """LLaMA with scaled, mostly tied embeddings and GELU."""
    _one_way(c)
    part = attention(c, **biased(c))
    return uniform(c, block(part, mlp(c, acts=_GEMMA_ACTS)), embedding=_SCALED)


def gemma2(c: Config) -> Body:
    """Gemma with norms before and behind each part, every other layer sliding."""
    _one_way(c)
    if c.value("sliding_window_size") is not None:
        c.agrees("sliding_window_size", c.length("sliding_window") or 0)
    return _gemma_layers(c, every(c, 2), biased(c))


def gemma3_text(c: Config) -> Body:
    """Gemma 2 with five sliding layers to one and a norm over each query and key head."""
    _one_way(c)
    period = 6 if c.value("sliding_window_pattern") is None else c.size("sliding_window_pattern")
    return _gemma_layers(c, every(c, period), {"qk_norm": "head"} | biased(c))


def smollm3(c: Config) -> Body:
    """LLaMA where every fourth layer has no positions."""
    count, period = c.layer_count(), c.size("no_rope_layer_interval")
    turns = c.numbers("no_rope_layers")
    if turns is None:
        turns = [int((i + 1) % period != 0) for i in range(count)]
    if len(turns) != count:
        raise c.bad(f"no_rope_layers has {len(turns)} entries for {count} layers")
    window = c.length("sliding_window")
    if c.flag("use_sliding_window") and window is not None:
        raise c.bad("sliding windows of smollm3 are not understood", "write a card by hand")
    c.value("max_window_layers")
    layer_types(c, [FULL] * count, known=(FULL,))
    feed = mlp(c, bias=c.flag("mlp_bias"))
    blocks = {
        "rope": block(attention(c, **biased(c)), feed),
        "nope": block(attention(c, rotary_dim=0, **biased(c)), feed),
    }
    return body(c, ["rope" if turn else "nope" for turn in turns], blocks)


_GEMMA_ACTS = ("hidden_activation", "hidden_act")


def _one_way(c: Config) -> None:
    """Refuse Gemmas that look both ways, such as embedding models: their windows differ."""
    c.fixed("use_bidirectional_attention", only=False)


def _gemma_layers(c: Config, otherwise: list[str], more: dict[str, Any]) -> Body:
    feed = mlp(c, acts=_GEMMA_ACTS)
    types = layer_types(c, otherwise)
    local, world = (
        block(attention(c, **more, window=one), feed, norms=4, placement="sandwich")
        for one in (sliding_window(c, types), None)
    )
    return windowed(c, types, local, world, embedding=_SCALED)


def _glm_attention(c: Config) -> dict[str, Any]:
    return attention(c, qkv_bias=c.flag("attention_bias"), rotary_dim=rotary_dim(c, 0.5))


def _by_window(
    c: Config, otherwise: list[str], more: dict[str, Any], placement: str = "pre"
) -> Body:
    """Layers of one kind, some of which see only sliding_window tokens."""
    types = layer_types(c, otherwise)
    window = sliding_window(c, types)
    local, world = (
        block(attention(c, **more, window=one), mlp(c), placement=placement)
        for one in (window, None)
    )
    return windowed(c, types, local, world)


def _late_sliding(c: Config) -> list[str]:
    """Layers from max_window_layers on slide where use_sliding_window says so."""
    on, first = c.flag("use_sliding_window"), c.count("max_window_layers")
    if not on and SLIDING in layer_types(c, []):
        raise c.bad("layer_types has sliding layers, and use_sliding_window is false")
    on = on and c.length("sliding_window") is not None
    return [SLIDING if on and i >= first else FULL for i in range(c.layer_count())]


granite = llama
ministral3 = mistral
