"""Configs of encoders, and of encoders with a decoder."""

from __future__ import annotations

from llmcalc.checks.hf_config.facts import (
    Keys,
    NotExpressibleError,
    base,
    ends,
    first,
    has,
    layers,
    shape,
    wide,
)
from llmcalc.spec.card import ModelCard, Stack
from llmcalc.spec.parts import Attention, Mlp


def bert(card: ModelCard) -> Keys:
    """Rows of positions and types; the class follows from the tensors at its end."""
    pretraining = has(card.extra, "seq_relationship")
    end = "ForPreTraining" if pretraining else "ForMaskedLM" if card.head else "Model"
    return _encoder(card) | {"architectures": [f"Bert{end}"]}


def roberta(card: ModelCard) -> Keys:
    """BERT under another name."""
    end = "ForMaskedLM" if card.head else "Model"
    return _encoder(card) | {"architectures": [f"Roberta{end}"]}


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


def _encoder_of(card: ModelCard) -> Stack:
    if card.encoder is None:
        raise NotExpressibleError("no encoder")
    return card.encoder


def t5(card: ModelCard) -> Keys:
    """A table of relative positions in the first layer of each stack."""
    attention, feed = first(card, Attention), first(card, Mlp)
    act = {"silu": "silu", "gelu": "gelu", "relu": "relu"}.get(feed.activation, "relu")
    return {
        "d_model": card.hidden_size,
        "d_kv": attention.head_dim or card.hidden_size // attention.num_heads,
        "d_ff": feed.intermediate_size,
        "num_heads": attention.num_heads,
        "num_layers": len(layers(_encoder_of(card))),
        "num_decoder_layers": len(layers(card)),
        "relative_attention_num_buckets": attention.relative_buckets,
        "feed_forward_proj": f"gated-{act}" if feed.gated else act,
        "vocab_size": card.vocab_size,
        "tie_word_embeddings": card.embedding.tied,
        "architectures": ["T5ForConditionalGeneration"],
    }


def bart(card: ModelCard) -> Keys:
    """Learned positions, two rows more than the context."""
    return _two(card) | {
        "max_position_embeddings": card.embedding.positions - 2,
        "architectures": ["BartForConditionalGeneration"],
    }


def mbart(card: ModelCard) -> Keys:
    """BART with norms before the parts."""
    return bart(card) | {"architectures": ["MBartForConditionalGeneration"]}


def whisper(card: ModelCard) -> Keys:
    """Convolutions over a spectrum, and an encoder of fixed length."""
    encoder = _encoder_of(card)
    keys = {key: value for key, value in _two(card).items() if key != "max_position_embeddings"}
    return keys | {
        "num_mel_bins": shape(encoder.extra, "conv1.weight")[1],
        "max_source_positions": shape(encoder.extra, "embed_positions.weight")[0],
        "max_target_positions": card.embedding.positions,
        "architectures": ["WhisperForConditionalGeneration"],
    }


def _two(card: ModelCard) -> Keys:
    """Sizes of both stacks."""
    keys = {key: value for key, value in ends(card).items() if key != "hidden_size"}
    keys["d_model"] = card.hidden_size
    stacks: tuple[tuple[str, ModelCard | Stack], ...]
    stacks = (("decoder", card), ("encoder", _encoder_of(card)))
    for name, stack in stacks:
        keys |= {
            f"{name}_layers": len(layers(stack)),
            f"{name}_attention_heads": first(stack, Attention).num_heads,
            f"{name}_ffn_dim": first(stack, Mlp).intermediate_size,
        }
    return keys
