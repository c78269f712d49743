"""Latent attention beyond DeepSeek-V3: with an indexer, twice a layer, or without experts."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.deepseek import latent, shared_experts
from llmcalc.catalog.huggingface.parts import Body, block, body, layer_types, mlp, moe, uniform

INDEXED = "indexed_attention"


def deepseek_v32(c: Config) -> Body:
    """DeepSeek-V3 whose queries attend to the tokens that an indexer picks."""
    return _indexed(c, own_embedding=True, own_head=True)


def glm_moe_dsa(c: Config) -> Body:
    """GLM-5: the same; an indexer in each layer."""
    c.value("indexer_rope_interleave")
    c.value("index_skip_topk_offset")
    c.fixed("index_topk_freq", only=1)
    c.fixed("index_topk_pattern", only="F" * c.layer_count())
    c.fixed("indexer_types", only=["full"] * c.layer_count())
    return _indexed(c)


def _indexed(c: Config, **heads: bool) -> Body:
    names = feed_types(c, c.count("first_k_dense_replace"))
    layer_types(c, [], known=(INDEXED,))
    c.fixed("mlp_bias", only=False)
    c.fixed("moe_layer_freq", only=1)
    c.agrees("num_experts", c.size("n_routed_experts"))
    c.size("q_lora_rank")  # the indexer's queries come from that latent
    indexer = {"num_heads": c.size("index_n_heads"), "head_dim": c.size("index_head_dim")}
    if c.length("index_topk") is None:
        raise c.wrong("index_topk", "a number of tokens")
    part = {"mla": latent(c)["mla"] | {"indexer": indexer | {"topk": c.length("index_topk")}}}
    feed = shared_experts(c, correction_bias=True)
    ahead = c.count("num_nextn_predict_layers") if c.says("num_nextn_predict_layers") else 0
    more = {"mtp": {"layers": ahead, "block": "moe"} | heads} if ahead and "moe" in names else {}
    return body(c, names, {"dense": block(part, mlp(c)), "moe": block(part, feed)}, **more)


def feed_types(c: Config, first: int) -> list[str]:
    """Which layers have experts: as mlp_layer_types lists, else all from `first` on."""
    listed, count = c.value("mlp_layer_types"), c.layer_count()
    if listed is None:
        return ["moe" if i >= first else "dense" for i in range(count)]
    known = {"dense": "dense", "sparse": "moe"}
    if not isinstance(listed, list) or len(listed) != count:
        raise c.wrong("mlp_layer_types", f"a list of {count} words")
    if not all(isinstance(one, str) and one in known for one in listed):
        raise c.wrong("mlp_layer_types", "a list of dense and sparse")
    return [known[one] for one in listed]


def glm4_moe_lite(c: Config) -> Body:
    """GLM-4.7-Flash: DeepSeek-V3 with one dense layer."""
    names = feed_types(c, 1)
    if c.value("mlp_layer_types") is None:
        c.agrees("first_k_dense_replace", 1)
    c.value("num_nextn_predict_layers")
    part, feed = latent(c), shared_experts(c, correction_bias=True)
    return body(c, names, {"dense": block(part, mlp(c)), "moe": block(part, feed)})


def minicpm3(c: Config) -> Body:
    """Latent attention before ordinary feed-forward parts, everything scaled."""
    for key in ("scale_emb", "scale_depth", "dim_model_base"):
        c.value(key)
    heads = c.size("num_attention_heads")
    wide = c.size("hidden_size") // heads if c.value("v_head_dim") is None else None
    part = latent(c, v_head_dim=wide)
    return uniform(c, block(part, mlp(c, bias=c.flag("mlp_bias"))))


def longcat_flash(c: Config) -> Body:
    """Two attentions and two dense parts a layer, experts beside them, some of which do nothing.

    The class of transformers gives the idle experts rows of weights that no file holds.
    """
    c.fixed("attention_method", only="MLA")
    c.fixed("zero_expert_type", only="identity")
    count = c.layer_count("num_layers")
    c.agrees("num_hidden_layers", 2 * count)
    for key in ("mla_scale_q_lora", "mla_scale_kv_lora", "router_dtype", "router_bias"):
        c.value(key)
    part = latent(c)
    c.size("q_lora_rank")
    c.agrees("qk_head_dim", c.size("qk_nope_head_dim") + c.size("qk_rope_head_dim"))
    experts, idle = c.size("n_routed_experts"), c.count("zero_expert_num")
    top_k, size = c.size("moe_topk"), c.size("expert_ffn_hidden_size")
    more: dict[str, Any] = {"zero_experts": idle or None, "correction_bias": True}
    more |= {"router_bias": c.flag("router_bias")}
    feed = mlp(c, c.size("ffn_hidden_size"))
    one = block(part, feed, part, feed, moe(c, experts, top_k, size, **more), norms=4)
    return body(c, ["shortcut"] * count, {"shortcut": one})
