"""Configs of encoders: BERT and its descendants, and the encoder of T5 alone."""

from __future__ import annotations

from llmcalc.checks.hf_config.facts import Keys, base, every, first, has, layers, shape, wide
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, Mlp


def bert(card: ModelCard) -> Keys:
    """Rows of positions and types; the class follows from the tensors at its end."""
    if has(card.extra, "seq_relationship"):
        return _encoder(card) | {"architectures": ["BertForPreTraining"]}
    return _encoder(card) | _class(card, "Bert", "classifier.weight")


def roberta(card: ModelCard) -> Keys:
    """BERT under another name."""
    return _encoder(card) | _class(card, "Roberta", "classifier.out_proj.weight")


def xlm_roberta(card: ModelCard) -> Keys:
    """RoBERTa of a hundred languages."""
    return _encoder(card) | _class(card, "XLMRoberta", "classifier.out_proj.weight")


def camembert(card: ModelCard) -> Keys:
    """RoBERTa in French."""
    return _encoder(card) | _class(card, "Camembert", "classifier.out_proj.weight")


def mpnet(card: ModelCard) -> Keys:
    """RoBERTa without types, with relative positions."""
    buckets = {"relative_attention_num_buckets": first(card, Attention).relative_buckets}
    keys = {key: value for key, value in _encoder(card).items() if key != "type_vocab_size"}
    return keys | buckets | _class(card, "MPNet", "classifier.out_proj.weight")


def distilbert(card: ModelCard) -> Keys:
    """BERT without types and pooler, under names of its own."""
    return _class(card, "DistilBert", "classifier.weight") | {
        "dim": card.hidden_size,
        "n_layers": len(layers(card)),
        "n_heads": first(card, Attention).num_heads,
        "hidden_dim": first(card, Mlp).intermediate_size,
        "max_position_embeddings": card.embedding.positions,
        "vocab_size": card.vocab_size,
        "tie_word_embeddings": card.embedding.tied or not card.head,
    }


def electra(card: ModelCard) -> Keys:
    """Tables as narrow as the generator's; a discriminator in place of a head."""
    narrow = card.embedding.dim
    rows = {
        key: shape(card.extra, f"{name}.weight")[0]
        for key, name in (
            ("max_position_embeddings", "position_embeddings"),
            ("type_vocab_size", "token_type_embeddings"),
        )
    } if narrow else {}  # fmt: skip
    end = (
        "ForPreTraining"
        if has(card.extra, "discriminator")
        else "ForMaskedLM"
        if card.head
        else "Model"
    )
    keys = {"embedding_size": narrow or card.hidden_size, "architectures": [f"Electra{end}"]}
    return _encoder(card) | rows | keys


def modernbert(card: ModelCard) -> Keys:
    """Rotary positions, layers that see a window by turns."""
    parts = every(card, Attention)
    reach = next((part.window for part in parts if part.window), None)
    return base(card) | wide(card) | _class(card, "ModernBert", "classifier.weight") | {
        "num_attention_heads": parts[0].num_heads,
        "layer_types": [
            "sliding_attention" if part.window else "full_attention" for part in parts
        ],
        "norm_bias": card.norm == "layer",
        "decoder_bias": card.head_bias,
        "classifier_bias": has(card.extra, "head.dense.bias"),
        "tie_word_embeddings": card.embedding.tied or not card.head,
    } | ({"local_attention": reach - 1} if reach else {})  # fmt: skip


def t5_encoder(card: ModelCard, name: str = "T5") -> Keys:
    """The encoder of T5 alone."""
    return t5_sizes(card) | {
        "num_layers": len(layers(card)),
        "vocab_size": card.vocab_size,
        "architectures": [f"{name}EncoderModel"],
    }


def t5_sizes(card: ModelCard) -> Keys:
    """Widths and heads of T5."""
    attention, feed = first(card, Attention), first(card, Mlp)
    act = feed.activation
    return {
        "d_model": card.hidden_size,
        "d_kv": attention.head_dim or card.hidden_size // attention.num_heads,
        "d_ff": feed.intermediate_size,
        "num_heads": attention.num_heads,
        "relative_attention_num_buckets": attention.relative_buckets,
        "feed_forward_proj": f"gated-{act}" if feed.gated else act,
    }


def _class(card: ModelCard, prefix: str, classifier: str) -> Keys:
    """The class that follows from what stands at the end, and labels of a classifier."""
    if has(card.extra, classifier):
        labels = shape(card.extra, classifier)[0]
        return {
            "architectures": [f"{prefix}ForSequenceClassification"],
            "id2label": {str(i): f"LABEL_{i}" for i in range(labels)},
        }
    return {"architectures": [f"{prefix}{'ForMaskedLM' if card.head else 'Model'}"]}


def _encoder(card: ModelCard) -> Keys:
    keys = base(card) | wide(card) | {
        "num_attention_heads": first(card, Attention).num_heads,
        "max_position_embeddings": card.embedding.positions or card.max_position_embeddings,
        "type_vocab_size": card.embedding.types,
    }  # fmt: skip
    # Without a head there is nothing to tie, and no class says otherwise.
    return keys | ({} if card.head else {"tie_word_embeddings": True})


def deberta_v2(card: ModelCard) -> Keys:
    """A table of relative positions, both ways."""
    end = "ForMaskedLM" if card.head else "Model"
    own = any(block.extra for block in layers(card))
    return _encoder(card) | {
        "architectures": [f"DebertaV2{end}"],
        "relative_attention": True,
        "position_buckets": shape(card.extra, "rel_embeddings.weight")[0] // 2,
        "position_biased_input": bool(card.embedding.positions),
        "norm_rel_ebd": "layer_norm" if has(card.extra, "rel_embeddings.LayerNorm") else "none",
        "share_att_key": not own,
        "pos_att_type": ["p2c", "c2p"],
    }
