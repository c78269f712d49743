"""BERT and its descendants: encoders with a pooler, a masked-language-model head, a classifier."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.classes import (
    head_of,
    ignored,
    label_count,
    layer_norm,
    linear,
    tensor,
)
from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.parts import Body, activation, block, said

Tensors = list[dict[str, Any]]
LM_HEADS = ("ForMaskedLM", "ForCausalLM", "LMHeadModel", "ForPreTraining")
_BASE = ("Model", "ForMaskedLM")
_ROBERTA = (*_BASE, "ForCausalLM", "ForSequenceClassification")


def bert(c: Config) -> Body:
    """Learned positions and token types, a norm behind each sum."""
    heads = (*_BASE, "LMHeadModel", "ForPreTraining", "ForSequenceClassification")
    head = head_of(c, "Bert", heads)
    ignored(
        c, "directionality", "pooler_fc_size", "pooler_num_attention_heads",
        "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type",
    )  # fmt: skip
    extra = _pooler(c) if head in ("Model", "ForPreTraining", "ForSequenceClassification") else []
    if head in LM_HEADS:
        extra += lm_transform(c)
    if head == "ForPreTraining":
        extra += linear("seq_relationship", 2, c.size("hidden_size"))
    if head == "ForSequenceClassification":
        extra += linear("classifier", label_count(c), c.size("hidden_size"))
    return _learned(c, head, extra)


def roberta(c: Config) -> Body:
    """BERT whose first two positions are of padding."""
    return _roberta(c, "Roberta")


def xlm_roberta(c: Config) -> Body:
    """RoBERTa of a hundred languages."""
    return _roberta(c, "XLMRoberta")


def camembert(c: Config) -> Body:
    """RoBERTa in French."""
    return _roberta(c, "Camembert")


def _roberta(c: Config, prefix: str) -> Body:
    d, head = c.size("hidden_size"), head_of(c, prefix, _ROBERTA)
    extra = _pooler(c) if head == "Model" else []
    if head == "ForSequenceClassification":
        extra += linear("classifier.dense", d, d) + linear("classifier.out_proj", label_count(c), d)
    if head in LM_HEADS:
        extra += lm_transform(c)
    return _learned(c, head, extra, padding=2)


def distilbert(c: Config) -> Body:
    """BERT without token types and pooler."""
    c.fixed("tie_weights_", only=True)
    ignored(c, "sinusoidal_pos_embds")
    head = head_of(c, "DistilBert", (*_BASE, "ForSequenceClassification"))
    d = c.size("hidden_size")
    extra = lm_transform(c) if head in LM_HEADS else []
    if head == "ForSequenceClassification":
        extra = linear("pre_classifier", d, d) + linear("classifier", label_count(c), d)
    feed = plain(c, "hidden_dim", "activation")
    rows = {"positions": c.size("max_position_embeddings"), "norm": True}
    return encoder(c, _blocks(c, feed), head, extra, rows)


def mpnet(c: Config) -> Body:
    """RoBERTa without token types, with relative positions that all layers share."""
    head = head_of(c, "MPNet", _BASE)
    extra = lm_transform(c) if head in LM_HEADS else _pooler(c)
    feed = plain(c, "intermediate_size")
    first = self_attention(c, relative_buckets=c.size("relative_attention_num_buckets"))
    blocks = {"first": block(first, feed, placement="post"), **_blocks(c, feed)}
    rows = {"positions": c.size("max_position_embeddings"), "norm": True}
    return encoder(c, blocks, head, extra, rows, padding=2)


def electra(c: Config) -> Body:
    """BERT without pooler, its tables as narrow as the generator's."""
    d, narrow = c.size("hidden_size"), c.size("embedding_size")
    head = head_of(c, "Electra", (*_BASE, "ForCausalLM", "ForPreTraining"))
    ignored(c, "summary_use_proj", "summary_type", "summary_activation")
    c.fixed("position_embedding_type", only="absolute")
    positions, types = c.size("max_position_embeddings"), c.count("type_vocab_size")
    extra: Tensors = []
    if narrow == d:
        rows = {"positions": positions, "types": types, "norm": True}
    else:
        rows = {"dim": narrow}
        extra = [tensor("position_embeddings.weight", positions, narrow)]
        extra += [tensor("token_type_embeddings.weight", types, narrow)] if types else []
        extra += layer_norm("embeddings.LayerNorm", narrow)
        extra += [tensor("embeddings_project.bias", d)]
    extra += _electra_head(d, narrow, head)
    causal_lm = "ForMaskedLM" if head == "ForCausalLM" else head
    known = "" if head == "ForPreTraining" else causal_lm
    return encoder(c, _blocks(c, plain(c, "intermediate_size")), known, extra, rows)


def _electra_head(d: int, narrow: int, head: str) -> Tensors:
    """What a generator puts before its tied head, or a discriminator instead of one."""
    if head == "ForPreTraining":
        return linear("discriminator.dense", d, d) + linear("discriminator.prediction", 1, d)
    if head == "Model":
        return []
    dense = linear("generator.dense", narrow, d)
    # The matrix that leads to a narrow head is the card's second embedding projection.
    return (dense if narrow == d else dense[1:]) + layer_norm("generator.LayerNorm", narrow)


def _pooler(c: Config) -> Tensors:
    return linear("pooler", c.size("hidden_size"), c.size("hidden_size"))


def lm_transform(c: Config) -> Tensors:
    """The dense layer and the norm before the head of a masked language model."""
    d = c.size("hidden_size")
    return linear("lm_transform.dense", d, d) + layer_norm("lm_transform.norm", d)


def _learned(c: Config, head: str, extra: Tensors, *, padding: int = 0) -> Body:
    """Learned positions and token types before blocks that are all alike."""
    c.fixed("position_embedding_type", only="absolute")
    rows = {
        "positions": c.size("max_position_embeddings"),
        "types": c.count("type_vocab_size"),
        "norm": True,
    }
    blocks = _blocks(c, plain(c, "intermediate_size"))
    return encoder(c, blocks, head, extra, rows, padding=padding)


def encoder(
    c: Config,
    blocks: dict[str, Any],
    head: str,
    extra: Tensors,
    rows: dict[str, Any],
    padding: int = 0,
) -> Body:
    """The card of a stack of blocks of which `first`, if there is one, stands once."""
    c.fixed("add_cross_attention", only=False)
    layers, tied = c.layer_count(), c.flag("tie_word_embeddings")
    once = ["first"] if "first" in blocks else []
    rest = layers - len(once)
    written = {} if head not in LM_HEADS else {"head_bias": True}
    if written and tied:
        rows = rows | {"tied": True}
    elif written and head != "":
        extra = extra + _second_bias(c)
    return said(
        {
            "hidden_size": c.size("hidden_size"),
            "vocab_size": c.size("vocab_size"),
            "max_position_embeddings": max(1, c.size("max_position_embeddings") - padding),
            "norm": "layer",
            "embedding": {key: value for key, value in rows.items() if value},
            "blocks": {k: v for k, v in blocks.items() if k == "first" or rest},
            "layers": once + ([f"{rest}*dense" if rest > 1 else "dense"] if rest else []),
            "extra": extra or None,
        }
    ) | ({"causal": c.flag("is_decoder"), "final_norm": False, "head": bool(written)} | written)


def _second_bias(c: Config) -> Tensors:
    """An untied head of most classes keeps the bias of the tied one beside its own."""
    if c.value("model_type") in ("distilbert", "electra"):
        return []
    return [tensor("lm_head.unused_bias", c.size("vocab_size"))]


def _blocks(c: Config, feed: dict[str, Any]) -> dict[str, Any]:
    return {"dense": block(self_attention(c), feed, placement="post")}


def self_attention(c: Config, **more: Any) -> dict[str, Any]:
    """Biased attention without rotation, as many key heads as query heads, which must divide."""
    heads, d = c.size("num_attention_heads"), c.size("hidden_size")
    if d % heads:
        message = f"hidden_size {d} does not divide by {heads} attention heads"
        raise c.bad(message, "correct one of them")
    usual = {"num_heads": heads, "qkv_bias": True, "o_bias": True, "rotary_dim": 0}
    return {"attn": usual | more}


def plain(c: Config, key: str, act: str = "hidden_act") -> dict[str, Any]:
    """A biased feed-forward part of two matrices."""
    part = {"intermediate_size": c.size(key), "gated": False, "bias": True}
    return {"mlp": part | activation(c, act)}
