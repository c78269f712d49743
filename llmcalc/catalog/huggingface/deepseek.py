"""DeepSeek: experts with shared ones behind a few dense layers, and latent attention since V2."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.parts import Body, attention, biased, block, body, mlp, moe, said

_SIZES = """hidden_size intermediate_size moe_intermediate_size num_hidden_layers
num_attention_heads n_routed_experts num_experts_per_tok first_k_dense_replace vocab_size hidden_act
moe_layer_freq n_shared_experts tie_word_embeddings max_position_embeddings""".split()  # noqa: SIM905 (a table)
"""Keys without which the authors' own class would use defaults that are not recorded here."""


def deepseek(c: Config) -> Body:
    """DeepSeek-MoE, in the authors' own code: ordinary attention."""
    _require(c, *_SIZES)
    every = c.size("moe_layer_freq")
    return dense_first(c, attention(c, **biased(c)), shared_experts(c), every=every)


def deepseek_v2(c: Config) -> Body:
    """Latent attention; no correction bias."""
    c.fixed("mlp_bias", only=False)
    return dense_first(c, latent(c), shared_experts(c))


def deepseek_v3(c: Config) -> Body:
    """A correction bias beside each router, and heads for further tokens in the published file."""
    ahead = c.count("num_nextn_predict_layers") if c.says("num_nextn_predict_layers") else 0
    more: dict[str, Any] = {}
    if ahead:
        heads = {"own_embedding": True, "own_head": True}
        more["mtp"] = {"layers": ahead, "block": "moe"} | heads
    return dense_first(c, latent(c), shared_experts(c, correction_bias=True), **more)


def kimi_k2(c: Config) -> Body:
    """DeepSeek-V3 under a name of its own, in the authors' own code."""
    _require(c, *_SIZES, "q_lora_rank")
    c.fixed("moe_layer_freq", only=1)
    return deepseek_v3(c)


def _require(c: Config, *keys: str) -> None:
    """Refuse a config that leaves out what only the authors' code knows a default for."""
    for key in keys:
        if not c.says(key):
            raise c.wrong(key, "since this class lives outside transformers")


def latent(c: Config, *, v_head_dim: int | None = None) -> dict[str, Any]:
    """The `mla` part, `v_head_dim` where the file has none.

    num_key_value_heads and head_dim play no role in the class.
    """
    c.fixed("attention_bias", only=False)
    for key in ("num_key_value_heads", "head_dim", "qk_head_dim"):
        c.value(key)
    part = {"num_heads": c.size("num_attention_heads"), "q_lora_rank": c.maybe_size("q_lora_rank")}
    for key in ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim"):
        part[key] = c.size(key)
    part["v_head_dim"] = v_head_dim or c.size("v_head_dim")
    return {"mla": said(part)}


def shared_experts(c: Config, **more: Any) -> dict[str, Any]:
    """Experts and the shared ones, which are one wide part."""
    size = c.size("moe_intermediate_size")
    shared = 0 if c.value("n_shared_experts") is None else c.count("n_shared_experts")
    more["shared_intermediate_size"] = size * shared or None
    if (groups := c.maybe_size("n_group") or 1) > 1:
        more |= {"n_group": groups, "topk_group": c.size("topk_group")}
    return moe(c, c.size("n_routed_experts"), c.size("num_experts_per_tok"), size, **more)


def dense_first(
    c: Config, part: dict[str, Any], experts: dict[str, Any], every: int = 1, **more: Any
) -> Body:
    """Dense layers up to first_k_dense_replace, experts from there on."""
    first = c.count("first_k_dense_replace")
    names = ["moe" if i >= first and i % every == 0 else "dense" for i in range(c.layer_count())]
    blocks = {"dense": block(part, mlp(c)), "moe": block(part, experts)}
    return body(c, names, blocks, **more)
