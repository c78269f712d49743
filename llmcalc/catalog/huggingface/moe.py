"""Mixtures of experts over grouped-query attention."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.parts import (
    FULL,
    Body,
    attention,
    biased,
    block,
    body,
    every,
    layer_types,
    mlp,
    moe,
    rotary_dim,
    sliding_window,
    uniform,
    windowed,
)

CHUNKED = "chunked_attention"


def mixtral(c: Config) -> Body:
    """Mistral with experts for its feed-forward part."""
    part = attention(c, window=c.length("sliding_window"))
    return uniform(c, block(part, _experts(c)), called="moe")


def grok_1(c: Config) -> Body:
    """Mixtral with a norm behind each part as well and GELU; it has no class in transformers."""
    part = _experts(c, activation="gelu")
    if not c.says("tie_word_embeddings"):
        raise c.wrong("tie_word_embeddings", "since no class has a default for it")
    return uniform(c, block(attention(c), part, norms=4, placement="sandwich"), called="moe")


def granitemoe(c: Config) -> Body:
    """LLaMA with experts."""
    return uniform(c, block(attention(c, **biased(c)), _experts(c)), called="moe")


def granitemoeshared(c: Config) -> Body:
    """Granite with one shared expert."""
    part = _experts(c, shared_intermediate_size=c.count("shared_intermediate_size") or None)
    return uniform(c, block(attention(c, **biased(c)), part), called="moe")


def phimoe(c: Config) -> Body:
    """Mixtral with LayerNorm and biases of attention and head."""
    part = attention(c, window=c.length("sliding_window"), **biased(c))
    more = {"head_bias": True} if c.flag("lm_head_bias") else {}
    return uniform(c, block(part, _experts(c)), called="moe", norm="layer", **more)


def olmoe(c: Config) -> Body:
    """Mixtral with norms over all queries and all keys."""
    # The class sizes these norms by hidden_size, whatever head_dim says.
    c.agrees("head_dim", c.size("hidden_size") // c.size("num_attention_heads"))
    part = attention(c, qk_norm="full", **biased(c))
    return uniform(c, block(part, _experts(c, "num_experts")), called="moe")


def minimax_m2(c: Config) -> Body:
    """Mixtral with norms over all queries and keys, and a correction bias beside the router."""
    c.fixed("qk_norm_type", only="per_layer")
    for key in ("use_qk_norm", "use_routing_bias"):
        c.fixed(key, only=True)
    c.agrees("shared_intermediate_size", 0)
    c.agrees("attn_type_list", 1)
    factor, written = rotary_dim(c), c.maybe_size("rotary_dim")
    if None not in (factor, written) and factor != written:
        raise c.bad("rotary_dim and partial_rotary_factor differ", "remove one of them")
    rotary = written or factor
    # The released files do not hold the heads for further tokens that these keys announce.
    for key in ("use_mtp", "num_mtp_modules", "mtp_transformer_layers"):
        c.value(key)
    part = attention(c, qk_norm="full", rotary_dim=rotary)
    return uniform(c, block(part, _experts(c, correction_bias=True)), called="moe")


def gpt_oss(c: Config) -> Body:
    """Sinks, biases everywhere, every other layer sliding."""
    c.agrees("experts_per_token", c.size("num_experts_per_tok"))
    types = layer_types(c, every(c, 2))
    experts = _experts(c, router_bias=True, expert_bias=True)
    local, world = (
        block(attention(c, sinks=True, window=one, **biased(c)), experts)
        for one in (sliding_window(c, types), None)
    )
    return windowed(c, types, local, world)


def qwen2_moe(c: Config) -> Body:
    """Qwen2 with experts on some layers and one gated shared expert beside them."""
    window, last = c.length("sliding_window"), c.count("max_window_layers")
    if c.flag("use_sliding_window"):
        raise c.bad(f"windows ({window} up to layer {last}) of qwen2_moe are not understood")
    layer_types(c, [], known=(FULL,))
    shared = c.size("shared_expert_intermediate_size")
    more = {"shared_intermediate_size": shared, "shared_gate": True}
    return _sparse(c, attention(c, qkv_bias=c.flag("qkv_bias")), **more)


def qwen3_moe(c: Config) -> Body:
    """Qwen3 with experts on some layers."""
    c.fixed("use_qk_norm", only=True)
    c.fixed("qkv_bias", only=False)
    c.agrees("shared_expert_intermediate_size", 0)
    c.value("max_window_layers")
    window = c.length("sliding_window")
    slides = c.flag("use_sliding_window")
    part = attention(c, qk_norm="head", window=window if slides else None, **biased(c))
    return _sparse(c, part)


def hunyuan_v1_moe(c: Config) -> Body:
    """Experts of intermediate_size on every layer, one more shared by all tokens."""
    size = c.size("intermediate_size")
    c.agrees("moe_intermediate_size", size)
    c.agrees("num_shared_expert", 1)
    c.agrees("moe_layer_num_skipped", 0)
    for key, only in (("use_qk_norm", True), ("use_mixed_mlp_moe", True), ("use_cla", False)):
        c.fixed(key, only=only)
    part = attention(c, qk_norm="head", **biased(c))
    experts, top_k = _alike(c, "num_experts"), _alike(c, "moe_topk")
    feed = moe(c, experts, top_k, size, shared_intermediate_size=size)
    return uniform(c, block(part, feed), called="moe")


def glm4_moe(c: Config) -> Body:
    """Dense layers first, then experts with shared ones; norms of heads by a flag."""
    norm = "head" if c.flag("use_qk_norm") else None
    rotary = rotary_dim(c, 0.5)
    part = attention(c, qkv_bias=c.flag("attention_bias"), qk_norm=norm, rotary_dim=rotary)
    size = c.size("moe_intermediate_size")
    shared = size * c.count("n_shared_experts") or None
    more = {"shared_intermediate_size": shared, "correction_bias": True}
    feed = moe(c, c.size("n_routed_experts"), c.size("num_experts_per_tok"), size, **more)
    # Releases of one config differ in whether the MTP layer repeats embedding and head.
    c.value("num_nextn_predict_layers")
    first, count = c.count("first_k_dense_replace"), c.layer_count()
    names = ["moe" if i >= first else "dense" for i in range(count)]
    return body(c, names, {"dense": block(part, mlp(c)), "moe": block(part, feed)})


def ernie4_5_moe(c: Config) -> Body:
    """Experts on a range of layers; one flag for all biases."""
    c.fixed("use_bias", only=False)
    count = c.layer_count()
    start, end = c.count("moe_layer_start_index"), c.value("moe_layer_end_index")
    end = count - 1 if end == -1 else c.count("moe_layer_end_index")
    step = c.size("moe_layer_interval")
    size, shared = c.size("moe_intermediate_size"), c.count("moe_num_shared_experts")
    experts, part = c.size("moe_num_experts"), attention(c)
    feed = moe(c, experts, c.size("moe_k"), size, shared_intermediate_size=size * shared or None)
    names = ["moe" if (i + 1) % step == 0 and start <= i <= end else "dense" for i in range(count)]
    # The class keeps its correction bias as a parameter and not as a buffer, so that it counts.
    rows = [names.count("moe"), experts]
    extra = [{"name": "moe_statics.e_score_correction_bias", "shape": rows}] if rows[0] else []
    blocks = {"dense": block(part, mlp(c)), "moe": block(part, feed)}
    return body(c, names, blocks, **({"extra": extra} if extra else {}))


def llama4_text(c: Config) -> Body:
    """Chunked attention on rotating layers, full attention without positions on every fourth."""
    count, period = c.layer_count(), c.size("no_rope_layer_interval")
    turns = c.numbers("no_rope_layers") or [int((i + 1) % period != 0) for i in range(count)]
    chunk = c.length("attention_chunk_size")
    kinds = layer_types(c, [CHUNKED if turn and chunk else FULL for turn in turns], (FULL, CHUNKED))
    c.flag("use_qk_norm")  # its norm has no weights
    step = c.size("interleave_moe_layer_step")
    listed = c.numbers("moe_layers")  # an empty list means none
    sparse = list(range(step - 1, count, step)) if listed is None else listed
    if len(turns) != count:
        raise c.bad(f"no_rope_layers has {len(turns)} entries for {count} layers")
    feeds = {True: _llama4_feed(c), False: mlp(c, c.size("intermediate_size_mlp"))}
    names, blocks = [], {}
    for i, (turn, kind) in enumerate(zip(turns, kinds, strict=True)):
        window = chunk if kind == CHUNKED else None
        name = f"{'moe' if i in sparse else 'dense'}_{'local' if window else 'global'}"
        name += "" if bool(turn) == bool(window) else "_rope" if turn else "_nope"
        seen = {"window": window, "chunked": True if window else None}
        part = attention(c, rotary_dim=None if turn else 0, **seen, **biased(c))
        blocks[name] = block(part, feeds[i in sparse])
        names.append(name)
    return body(c, names, blocks)


def _llama4_feed(c: Config) -> dict[str, Any]:
    shared = c.size("intermediate_size")
    return _experts(c, shared_intermediate_size=shared)


def _experts(c: Config, key: str = "num_local_experts", **more: Any) -> dict[str, Any]:
    """Experts of intermediate_size."""
    size = c.size("intermediate_size")
    return moe(c, c.size(key), c.size("num_experts_per_tok"), size, **more)


def _sparse(c: Config, part: dict[str, Any], **more: Any) -> Body:
    """Experts on every decoder_sparse_step-th layer that is not in mlp_only_layers."""
    experts, step = c.count("num_experts"), c.size("decoder_sparse_step")
    dense = set(c.numbers("mlp_only_layers") or ())
    size, top_k = c.size("moe_intermediate_size"), c.size("num_experts_per_tok")
    names = [
        "moe" if experts and i not in dense and (i + 1) % step == 0 else "dense"
        for i in range(c.layer_count())
    ]
    blocks = {"dense": block(part, mlp(c))}
    if experts:
        blocks["moe"] = block(part, moe(c, experts, top_k, size, **more))
    return body(c, names, blocks)


def _alike(c: Config, key: str) -> int:
    """A size that may be written once for each layer, if they are all the same."""
    value = c.value(key)
    if isinstance(value, list) and value:
        if any(one != value[0] for one in value) or type(value[0]) is not int or value[0] < 1:
            raise c.wrong(key, "the same size for every layer")
        return value[0]
    return c.size(key)
