"""DeBERTa and ModernBERT: encoders with relative positions of their own kinds."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.classes import head_of, ignored, layer_norm, linear, tensor
from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.encoders import (
    LM_HEADS,
    Tensors,
    encoder,
    lm_transform,
    plain,
    self_attention,
)
from llmcalc.catalog.huggingface.layers import compress
from llmcalc.catalog.huggingface.parts import (
    FULL,
    SLIDING,
    Body,
    activation,
    block,
    layer_types,
    said,
)


def deberta_v2(c: Config) -> Body:
    """Content and position attend to each other; one table of relative positions for all layers.

    The files of its authors name no class: they are of the base model.
    """
    d, head = c.size("hidden_size"), head_of(c, "DebertaV2", ("Model", "ForMaskedLM"), "Model")
    c.agrees("embedding_size", d)
    c.agrees("attention_head_size", d // c.size("num_attention_heads"))
    ignored(c, "pooler_hidden_size", "pooler_hidden_act", "legacy", "conv_act")
    one = block(self_attention(c), plain(c, "intermediate_size"), placement="post")
    own = _position_projections(c)
    blocks = {"dense": one | ({"extra": own} if own else {})}
    rows: dict[str, Any] = {"types": c.count("type_vocab_size"), "norm": True}
    if c.flag("position_biased_input"):
        rows["positions"] = c.size("max_position_embeddings")
    extra = _relative(c) + _convolution(c)
    if head in LM_HEADS:
        extra += lm_transform(c)
        if not c.flag("tie_word_embeddings"):
            raise c.bad("tie_word_embeddings false is not understood", "write a card by hand")
    return encoder(c, blocks, head, extra, rows)


def _relative(c: Config) -> Tensors:
    """The table of relative positions, both ways, and its norm."""
    d = c.size("hidden_size")
    norms = [one.strip() for one in (c.word("norm_rel_ebd") or "none").lower().split("|")]
    found = layer_norm("rel_embeddings.LayerNorm", d) if "layer_norm" in norms else []
    if not c.flag("relative_attention"):
        ignored(c, "max_relative_positions", "position_buckets")
        return found
    reach = _whole(c, "max_relative_positions")
    reach = reach if reach >= 1 else c.size("max_position_embeddings")
    buckets = _whole(c, "position_buckets")
    rows = 2 * (buckets if buckets > 0 else reach)
    return [tensor("rel_embeddings.weight", rows, d), *found]


def _whole(c: Config, key: str) -> int:
    """A number of positions, or -1 for none."""
    return -1 if c.value(key) in (None, -1) else c.count(key)


def _position_projections(c: Config) -> Tensors:
    """Matrices of each layer for the keys and queries of positions, where they are its own."""
    d, given = c.size("hidden_size"), c.value("pos_att_type")
    kinds = given.lower().split("|") if isinstance(given, str) else given or []
    if not isinstance(kinds, list) or not all(isinstance(one, str) for one in kinds):
        raise c.wrong("pos_att_type", "a list of c2p and p2c")
    kinds = [one.strip() for one in kinds]
    if not c.flag("relative_attention") or c.flag("share_att_key"):
        c.flag("share_att_key")
        return []
    found = linear("pos_key_proj", d, d) if "c2p" in kinds else []
    return found + (linear("pos_query_proj", d, d) if "p2c" in kinds else [])


def _convolution(c: Config) -> Tensors:
    """The convolution beside the first layer."""
    d, kernel = (
        c.size("hidden_size"),
        c.count("conv_kernel_size") if c.says("conv_kernel_size") else 0,
    )
    groups = c.maybe_size("conv_groups") or 1
    if not kernel:
        return []
    if d % groups:
        raise c.bad(f"hidden_size {d} does not divide by {groups} groups of the convolution")
    shape = tensor("conv.weight", d, d // groups, kernel)
    return [shape, tensor("conv.bias", d), *layer_norm("conv.LayerNorm", d)]


_MODERN = """
    global_rope_theta local_rope_theta initializer_cutoff_factor deterministic_flash_attn
    reference_compile repad_logits_with_grad sparse_prediction sparse_pred_ignore_index
    classifier_pooling classifier_activation position_embedding_type layer_norm_eps norm_eps
""".split()  # noqa: SIM905 (a table)


def modernbert(c: Config) -> Body:
    """Rotary positions, gated feed-forward, every third layer global; the first without a norm."""
    head = head_of(c, "ModernBert", ("Model", "ForMaskedLM"))
    ignored(c, *_MODERN)
    d, bias = c.size("hidden_size"), c.flag("norm_bias")
    names, blocks = _modern_layers(c)
    extra: Tensors = []
    written: dict[str, Any] = {"head": False}
    rows: dict[str, Any] = {"norm": True}
    dense = linear("head.dense", d, d, bias=c.flag("classifier_bias"))
    decoder_bias, tied = c.flag("decoder_bias"), c.flag("tie_word_embeddings")
    if head == "ForMaskedLM":
        extra = dense + layer_norm("head.norm", d, bias=bias)
        written = {"head_bias": decoder_bias}
        rows |= {"tied": tied}
    return said(
        {
            "hidden_size": d,
            "vocab_size": c.size("vocab_size"),
            "max_position_embeddings": c.length("max_position_embeddings"),
            "norm": "layer" if bias else "layer_nobias",
            "embedding": rows,
            "blocks": blocks,
            "layers": list(compress(names)),
            "extra": extra or None,
        }
    ) | ({"causal": False} | written)


def _modern_layers(c: Config) -> tuple[list[str], dict[str, Any]]:
    """Which layers see all and which a window on both sides."""
    every = c.size("global_attn_every_n_layers") if c.says("global_attn_every_n_layers") else 3
    usual = [SLIDING if i % every else FULL for i in range(c.layer_count())]
    types = layer_types(c, usual)
    heads, bias = c.size("num_attention_heads"), c.flag("attention_bias")
    if c.size("hidden_size") % heads:
        raise c.bad(f"hidden_size does not divide by {heads} attention heads")
    local = 2 * (c.size("local_attention") // 2) + 1
    act = activation(c, "hidden_activation")
    feed = {"mlp": {"intermediate_size": c.size("intermediate_size")} | act}
    feed["mlp"] |= said({"bias": c.flag("mlp_bias")})
    made = {}
    for at, kind in enumerate(types):
        seen = {"window": local} if kind == SLIDING else {}
        part = {"num_heads": heads} | said({"qkv_bias": bias, "o_bias": bias}) | seen
        name = "first" if at == 0 else "local" if kind == SLIDING else "global"
        made[name] = block({"attn": part}, feed, norms=2 if at else 1)
    names = ["local" if one == SLIDING else "global" for one in types]
    return ["first", *names[1:]], made
