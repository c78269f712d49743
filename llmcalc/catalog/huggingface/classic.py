"""GPT-2 and its time: LayerNorm, plain feed-forward, learned or ALiBi positions."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.parts import (
    Body,
    attention,
    block,
    body,
    mlp,
    rotary_dim,
    uniform,
)

_BIASED = {"qkv_bias": True, "o_bias": True}
_NO_ROTATION = {"rotary_dim": 0}
_ACTS = ("activation_function",)


def gpt2(c: Config) -> Body:
    """Learned positions, biases everywhere, a feed-forward part four times as wide."""
    part = _attention(c, **_BIASED, **_NO_ROTATION)
    return _learned(c, block(part, _wide(c, "n_inner")), c.size("n_positions"))


def gpt_bigcode(c: Config) -> Body:
    """GPT-2 with one key and value head for all."""
    heads = 1 if c.flag("multi_query") else c.size("num_attention_heads")
    part = _attention(c, kv_heads=heads, **_BIASED, **_NO_ROTATION)
    return _learned(c, block(part, _wide(c, "n_inner")), c.size("n_positions"))


def gptj(c: Config) -> Body:
    """Attention without biases beside a feed-forward part, one norm for both; the head biased."""
    c.fixed("rotary", only=True)
    part = _attention(c, rotary_dim=c.count("rotary_dim"))
    one = block(part, _wide(c, "n_inner"), norms=1, placement="parallel")
    return uniform(c, one, norm="layer", head_bias=True, limit="n_positions")


def gpt_neo(c: Config) -> Body:
    """GPT-2 without biases of queries, keys and values, local attention on some layers."""
    feed = _wide(c, "intermediate_size")
    local, world = (
        block(_attention(c, o_bias=True, window=one, **_NO_ROTATION), feed)
        for one in (c.length("window_size"), None)
    )
    names = _neo_layers(c)
    more = {"norm": "layer", "embedding": {"positions": c.size("max_position_embeddings")}}
    return body(c, names, {"local": local, "global": world}, **more)


def gpt_neox(c: Config) -> Body:
    """Attention beside a feed-forward part with a norm each; a quarter of each head rotates."""
    bias = c.flag("attention_bias")
    part = _attention(c, qkv_bias=bias, o_bias=bias, rotary_dim=rotary_dim(c, 0.25, "rotary_pct"))
    beside = "parallel" if c.flag("use_parallel_residual") else "pre"
    return uniform(c, block(part, mlp(c, gated=False, bias=True), placement=beside), norm="layer")


def phi(c: Config) -> Body:
    """GPT-J with biases everywhere; half of each head rotates."""
    c.fixed("qk_layernorm", only=False)
    part = attention(c, **_BIASED, rotary_dim=rotary_dim(c, 0.5))
    one = block(part, mlp(c, gated=False, bias=True), norms=1, placement="parallel")
    return uniform(c, one, norm="layer", head_bias=True)


def opt(c: Config) -> Body:
    """GPT-2 with ReLU and two rows of positions more than the context; the 350M norms behind."""
    bias = c.flag("enable_bias")
    before = c.flag("do_layer_norm_before")
    part = _attention(c, qkv_bias=bias, o_bias=bias, **_NO_ROTATION)
    feed = mlp(c, c.size("ffn_dim"), gated=False, bias=bias, acts=_ACTS)
    width = c.maybe_size("word_embed_proj_dim")
    rows: dict[str, Any] = {"positions": c.size("max_position_embeddings") + 2}
    if width is not None and width != c.size("hidden_size"):
        rows["dim"] = width
    last = before and not c.flag("_remove_final_layer_norm")
    norm = "layer" if c.flag("layer_norm_elementwise_affine") else "none"
    more: dict[str, Any] = {} if last else {"final_norm": False}
    one = block(part, feed, placement="pre" if before else "post")
    return uniform(c, one, norm=norm, embedding=rows, **more)


def bloom(c: Config) -> Body:
    """ALiBi, a norm behind the embedding, a feed-forward part four times as wide."""
    if c.says("n_embed"):
        c.agrees("hidden_size", c.size("n_embed"))
    c.value("n_inner")
    part = _attention(c, **_BIASED, **_NO_ROTATION)
    four = 4 * c.size("hidden_size")
    feed = {"mlp": {"intermediate_size": four, "gated": False, "bias": True, "activation": "gelu"}}
    return uniform(c, block(part, feed), norm="layer", embedding={"norm": True}, limit="seq_length")


def falcon(c: Config) -> Body:
    """Three generations: one norm or two, one key and value head, some or all; ALiBi or rotary."""
    new, parallel = c.flag("new_decoder_architecture"), c.flag("parallel_attn")
    heads, given = c.size("num_attention_heads"), c.maybe_size("num_kv_heads") or None
    kv = (given or heads) if new or not c.flag("multi_query") else 1
    if not new and not c.flag("multi_query") and kv != heads:
        raise c.bad(f"num_kv_heads {kv} needs new_decoder_architecture")
    bias = c.flag("bias")
    rotary = 0 if c.flag("alibi") else None
    part = _attention(c, kv_heads=kv, qkv_bias=bias, o_bias=bias, rotary_dim=rotary)
    size = c.maybe_size("ffn_hidden_size") or 4 * c.size("hidden_size")
    feed = mlp(c, size, gated=False, bias=bias, acts=("activation",))
    norms = c.maybe_size("num_ln_in_parallel_attn") or (2 if new else 1)
    if parallel and norms not in (1, 2):
        raise c.wrong("num_ln_in_parallel_attn", "1 or 2")
    if not parallel:
        return uniform(c, block(part, feed), norm="layer")
    return uniform(c, block(part, feed, norms=norms, placement="parallel"), norm="layer")


def mpt(c: Config) -> Body:
    """ALiBi, no biases at all, a feed-forward part four times as wide."""
    for key, only in (("no_bias", True), ("expansion_ratio", 4), ("embedding_fraction", 1.0)):
        c.fixed(key, only=only)
    c.value("learned_pos_emb")  # the class has none, whatever this says
    inner = c.value("attn_config")
    if inner is not None:
        _check_mpt_attention(c, inner)
    four = 4 * c.size("hidden_size")
    feed = {"mlp": {"intermediate_size": four, "gated": False, "activation": "gelu"}}
    one = block(_attention(c, **_NO_ROTATION), feed)
    return uniform(c, one, norm="layer_nobias", limit="max_seq_len")


def _check_mpt_attention(c: Config, inner: Any) -> None:
    """Refuse attention that the class would not build as told."""
    if not isinstance(inner, dict):
        raise c.wrong("attn_config", "a mapping")
    only = {"attn_type": "multihead_attention", "qk_ln": False, "alibi": True, "prefix_lm": False}
    known = {*only, "attn_impl", "attn_pdrop", "clip_qkv", "softmax_scale", "alibi_bias_max"}
    for key, value in inner.items():
        if key not in {*known, "attn_uses_sequence_id", "model_type"}:
            raise c.bad(f"attn_config.{key:.60} is not understood", "write a card by hand")
        if key in only and value != only[key]:
            message = f"attn_config.{key} {value!r:.40} is not understood"
            raise c.bad(message, f"only {only[key]} is; write a card by hand")


def _attention(c: Config, **more: Any) -> dict[str, Any]:
    """Attention of a class that knows no head_dim and no num_key_value_heads."""
    heads = c.size("num_attention_heads")
    c.agrees("head_dim", c.size("hidden_size") // heads)
    c.agrees("num_key_value_heads", more.get("kv_heads") or heads)
    return attention(c, **more)


def _wide(c: Config, key: str) -> dict[str, Any]:
    """A plain feed-forward part, four times as wide as the model where `key` says nothing."""
    size = c.maybe_size(key) or 4 * c.size("hidden_size")
    return mlp(c, size, gated=False, bias=True, acts=_ACTS)


def _learned(c: Config, one: dict[str, Any], positions: int) -> Body:
    """Layers alike behind learned positions."""
    rows = {"positions": positions}
    return uniform(c, one, norm="layer", embedding=rows, limit="n_positions")


def _neo_layers(c: Config) -> list[str]:
    """The kinds that attention_types spells as `[[["global", "local"], 12]]`."""
    given = c.value("attention_types")
    count = c.layer_count()
    names: list[str] = []
    if given is None:
        given = [[["global", "local"], 12]]
    for item in given if isinstance(given, list) else [given]:
        match item:
            case [list(kinds), int(times)] if set(map(str, kinds)) <= {"global", "local"}:
                names += kinds * min(max(times, 0), count)
            case _:
                raise c.wrong("attention_types", 'like [[["global", "local"], 12]]')
    if len(names) != count:
        raise c.bad(f"attention_types means {len(names)} layers, num_layers says {count}")
    return names
