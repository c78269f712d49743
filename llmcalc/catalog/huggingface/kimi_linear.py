"""Kimi Linear: layers of Kimi delta attention among layers of latent attention."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.hybrid import LINEAR, layer_kinds, pairs
from llmcalc.catalog.huggingface.parts import FULL, Body, body, mlp, moe, said
from llmcalc.catalog.huggingface.recurrent import kernel, numerics


def kimi_linear(c: Config) -> Body:
    """Kimi delta attention with latent attention in between, experts after the first layer."""
    count, inner = c.layer_count(), c.value("linear_attn_config")
    if inner is not None and not isinstance(inner, dict):
        raise c.wrong("linear_attn_config", "a mapping")
    kinds = layer_kinds(c, _kimi_kinds(c, inner or {}, count))
    feeds = _kimi_feeds(c, count)
    names = [
        f"{'mla' if kind == FULL else 'kda'}_{'moe' if feed == 'sparse' else 'mlp'}"
        for kind, feed in zip(kinds, feeds, strict=True)
    ]
    parts = {"mla": _kimi_latent(c), "kda": _kimi_delta(c, inner or {}), "mlp": mlp(c)}
    return body(c, names, pairs(names, parts | {"moe": _kimi_experts(c)}))


def _kimi_kinds(c: Config, inner: dict[str, Any], count: int) -> list[str]:
    """Layers numbered from 1 in two lists that together name each once; else each fourth."""
    full, linear = inner.get("full_attn_layers"), inner.get("kda_layers")
    if full is None or linear is None:
        if (full, linear) != (None, None):
            raise c.bad("linear_attn_config names the layers of one kind only", "give both lists")
        return [FULL if i and i % 4 == 0 else LINEAR for i in range(count)]
    lists_fit = isinstance(full, list) and isinstance(linear, list)
    if not lists_fit or sorted([*full, *linear], key=str) != sorted(range(1, count + 1), key=str):
        raise c.bad(f"linear_attn_config must name each of the {count} layers once")
    return [FULL if i + 1 in full else LINEAR for i in range(count)]


def _kimi_feeds(c: Config, count: int) -> list[str]:
    first = 1 if c.value("first_k_dense_replace") is None else c.count("first_k_dense_replace")
    derived = ["dense" if i < first else "sparse" for i in range(count)]
    c.fixed("moe_layer_freq", only=1)
    given = c.value("mlp_layer_types")
    if given is None:
        return derived
    if not isinstance(given, list) or len(given) != count or not set(map(str, given)) <= {
        "dense", "sparse",
    }:  # fmt: skip
        raise c.wrong("mlp_layer_types", "dense or sparse for each layer")
    return [str(one) for one in given]


def _kimi_latent(c: Config) -> dict[str, Any]:
    # The class ties nothing, whatever the file says.
    for key in ("attention_bias", "tie_word_embeddings"):
        c.fixed(key, only=False)
    for key in ("num_key_value_heads", "head_dim", "qk_head_dim", "mla_use_nope"):
        c.value(key)
    sizes = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    part = {"num_heads": c.size("num_attention_heads"), "q_lora_rank": c.maybe_size("q_lora_rank")}
    return {"mla": said(part | {key: c.size(key) for key in sizes})}


def _kimi_delta(c: Config, inner: dict[str, Any]) -> dict[str, Any]:
    """The `kda` part, by linear_attn_config where it says a size."""
    numerics(c)
    known = {
        "head_dim": "linear_head_dim", "num_heads": "linear_num_heads",
        "short_conv_kernel_size": "linear_conv_kernel_dim",
    }  # fmt: skip
    other = [key for key in inner if key not in (*known, "full_attn_layers", "kda_layers")]
    if other:
        raise c.bad(f"linear_attn_config with {other[0]:.40} is not understood")
    head_dim, heads, length = (
        _inside(c, inner, key) if key in inner else c.size(name) for key, name in known.items()
    )
    for name in known.values():
        c.value(name)
    return {"kda": {"num_heads": heads, "head_dim": head_dim} | kernel(length)}


def _inside(c: Config, inner: dict[str, Any], key: str) -> int:
    value = inner[key]
    if type(value) is not int or value < 1:
        raise c.bad(f"{key} in linear_attn_config must be a whole number")
    return value


def _kimi_experts(c: Config) -> dict[str, Any]:
    size = c.size("moe_intermediate_size")
    for key in ("moe_router_activation_func", "use_grouped_topk", "num_nextn_predict_layers"):
        c.value(key)
    more = {"shared_intermediate_size": size * c.size("n_shared_experts"), "correction_bias": True}
    return moe(c, c.size("num_local_experts"), c.size("num_experts_per_tok"), size, **more)
