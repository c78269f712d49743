"""Configs of encoders with a decoder."""

from __future__ import annotations

from llmcalc.checks.hf_config import encoders
from llmcalc.checks.hf_config.facts import Keys, NotExpressibleError, ends, first, layers, shape
from llmcalc.spec.card import ModelCard, Stack
from llmcalc.spec.parts import Attention, Mlp


def _encoder_of(card: ModelCard) -> Stack:
    if card.encoder is None:
        raise NotExpressibleError("no encoder")
    return card.encoder


def t5(card: ModelCard, name: str = "T5") -> Keys:
    """A table of relative positions in the first layer of each stack."""
    if card.encoder is None:
        return encoders.t5_encoder(card, name)
    return encoders.t5_sizes(card) | {
        "num_layers": len(layers(card.encoder)),
        "num_decoder_layers": len(layers(card)),
        "vocab_size": card.vocab_size,
        "tie_word_embeddings": card.embedding.tied,
        "architectures": [f"{name}ForConditionalGeneration"],
    }


def mt5(card: ModelCard) -> Keys:
    """T5 of a hundred languages."""
    return t5(card, "MT5")


def umt5(card: ModelCard) -> Keys:
    """T5 with relative positions in each layer."""
    return t5(card, "UMT5")


def bart(card: ModelCard) -> Keys:
    """Learned positions, two rows more than the context."""
    return _two(card) | {
        "max_position_embeddings": card.embedding.positions - 2,
        "architectures": ["BartForConditionalGeneration"],
    }


def _positions(card: ModelCard, name: str) -> Keys:
    """Descendants of BART whose table has as many rows as the context."""
    return _two(card) | {"architectures": [name]}


def pegasus(card: ModelCard) -> Keys:
    """Sinusoidal positions that are stored."""
    return _positions(card, "PegasusForConditionalGeneration")


def marian(card: ModelCard) -> Keys:
    """The same with norms behind the parts."""
    return _positions(card, "MarianMTModel")


def blenderbot(card: ModelCard) -> Keys:
    """Learned positions, few layers in the encoder."""
    return _positions(card, "BlenderbotForConditionalGeneration")


def m2m_100(card: ModelCard) -> Keys:
    """Sinusoidal positions that are computed."""
    return _positions(card, "M2M100ForConditionalGeneration")


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
