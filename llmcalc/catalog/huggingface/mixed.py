"""Models whose layers differ from each other by more than a window or experts."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.parts import (
    FULL,
    SLIDING,
    Block,
    Body,
    attention,
    biased,
    block,
    body,
    layer_types,
    mlp,
    moe,
    rotary_dim,
)

_WIDTH_STEP = 256


def mimo_v2_flash(c: Config) -> Body:
    """Sliding layers with twice the key and value heads and with sinks; experts after the first."""
    count = c.layer_count()
    types = layer_types(c, [FULL if i == 0 or (i + 1) % 6 == 0 else SLIDING for i in range(count)])
    sparse = [i > 0 for i in range(count)]
    _as_listed(c, "hybrid_layer_pattern", [int(one == SLIDING) for one in types])
    _as_listed(c, "moe_layer_freq", [int(one) for one in sparse])
    c.fixed("mlp_layer_types", only=["sparse" if one else "dense" for one in sparse])
    blocks = {
        f"{feed}_{reach}": block(part, _mimo_feed(c, feed))
        for feed in ("dense", "moe")
        for reach, part in (("local", _mimo_local(c)), ("global", _mimo_part(c)))
    }
    names = [
        f"{'moe' if one else 'dense'}_{'local' if kind == SLIDING else 'global'}"
        for one, kind in zip(sparse, types, strict=True)
    ]
    return body(c, names, blocks)


def _as_listed(c: Config, key: str, expected: list[int]) -> None:
    """Refuse a list, one entry a layer, that says otherwise than the class."""
    if c.value(key) is not None and c.numbers(key) != expected:
        raise c.bad(f"{key} differs from the layers that the class builds", "write a card by hand")


def _mimo_local(c: Config) -> dict[str, Any]:
    heads = 2 * c.size("num_key_value_heads")
    c.fixed("add_swa_attention_sink_bias", only=True)
    c.fixed("add_full_attention_sink_bias", only=False)
    dims = {"num_attention_heads": c.size("num_attention_heads"), "num_key_value_heads": heads}
    dims |= {"head_dim": c.size("head_dim"), "v_head_dim": c.size("v_head_dim")}
    for key, size in dims.items():
        c.agrees(f"swa_{key}", size)
    c.value("attention_chunk_size")
    # The class counts the token itself apart where the window comes by its older key.
    window, older = c.length("sliding_window"), c.length("sliding_window_size")
    window = window if older is None else older + 1
    return _mimo_part(c, kv_heads=heads, window=window, sinks=True)


def _mimo_part(c: Config, **more: Any) -> dict[str, Any]:
    for key in ("attention_value_scale", "swa_rope_theta"):
        c.value(key)
    wide = {"v_head_dim": c.size("v_head_dim"), "rotary_dim": rotary_dim(c, 0.334)}
    return attention(c, qkv_bias=c.flag("attention_bias"), **wide, **more)


def _mimo_feed(c: Config, feed: str) -> dict[str, Any]:
    if feed == "dense":
        return mlp(c)
    c.agrees("n_shared_experts", 0)
    experts, top_k = c.size("n_routed_experts"), c.size("num_experts_per_tok")
    return moe(c, experts, top_k, c.size("moe_intermediate_size"), correction_bias=True)


def nemotron_nas(c: Config) -> Body:
    """LLaMA with a choice for each layer: attention or none, and how wide the rest is."""
    listed = c.value("block_configs")
    count = c.layer_count()
    if not isinstance(listed, list) or len(listed) != count:
        raise c.bad(f"block_configs must be a list of {count} blocks", "one for each layer")
    c.value("num_key_value_heads")
    c.value("intermediate_size")
    if not c.says("tie_word_embeddings"):
        raise c.wrong("tie_word_embeddings", "since this class lives outside transformers")
    blocks = dict(_nas_block(c, one) for one in listed)
    return body(c, [_nas_block(c, one)[0] for one in listed], blocks)


def _nas_block(c: Config, one: Any) -> tuple[str, Block]:
    """The name and the block of one entry of block_configs."""
    match one:
        case {"attention": dict(mixer), "ffn": dict(feed)}:
            pass
        case _:
            raise c.bad("block_configs holds a block without attention and ffn")
    for facts in (mixer, feed):
        for key, value in facts.items():
            if key not in ("n_heads_in_group", "no_op", "ffn_mult") and value not in (None, False):
                raise c.bad(f"block_configs with {key:.40} {value!r:.40} is not understood")
    if feed.get("no_op"):
        raise c.bad("block_configs with an empty ffn is not understood")
    factor: Any = feed.get("ffn_mult")
    if type(factor) not in (int, float) or not 0 < factor <= 64:  # noqa: PLR2004
        raise c.bad(f"ffn_mult must be a number above 0, not {factor!r:.40}")
    width = -(-int(2 * factor * c.size("hidden_size") / 3) // _WIDTH_STEP) * _WIDTH_STEP
    wide = mlp(c, width, bias=c.flag("mlp_bias"))
    if mixer.get("no_op"):
        return f"mlp_{width}", block(wide, norms=1)
    group: Any = mixer.get("n_heads_in_group")
    heads = c.size("num_attention_heads")
    if type(group) is not int or group < 1 or heads % group:
        raise c.bad(f"n_heads_in_group must divide {heads}, not {group!r:.40}")
    part = attention(c, kv_heads=heads // group, **biased(c))
    return f"attn_{group}_mlp_{width}", block(part, wide)
