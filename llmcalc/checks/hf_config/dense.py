"""Configs of decoders with grouped-query attention and dense feed-forward parts."""

from __future__ import annotations

from llmcalc.checks.hf_config.facts import Keys, base, biases, every, first, heads, wide, windows
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, Mlp


def plain(card: ModelCard) -> Keys:
    """Width, depth, heads and the width inside: all that most families differ in."""
    return base(card) | heads(card) | wide(card)


def llama(card: ModelCard) -> Keys:
    """LLaMA, which also flags the biases of attention and of the feed-forward part."""
    return plain(card) | biases(card) | {"mlp_bias": first(card, Mlp).bias}


def biased(card: ModelCard) -> Keys:
    """Families with one flag for the biases of attention."""
    return plain(card) | biases(card)


def mistral(card: ModelCard) -> Keys:
    """A window for all layers or none."""
    return plain(card) | {"sliding_window": first(card, Attention).window}


def sliding(card: ModelCard) -> Keys:
    """Families whose layers slide by turns."""
    return biased(card) | windows(card)


def glm(card: ModelCard) -> Keys:
    """The flag is for queries, keys and values alone."""
    return plain(card) | {"attention_bias": first(card, Attention).qkv_bias}


def smollm3(card: ModelCard) -> Keys:
    """Layers with and without positions."""
    turns = [int(part.rotary_dim != 0) for part in every(card, Attention)]
    return llama(card) | {"no_rope_layers": turns}


def starcoder2(card: ModelCard) -> Keys:
    """One flag for all biases."""
    return mistral(card) | {"use_bias": first(card, Attention).qkv_bias}


def cohere(card: ModelCard) -> Keys:
    """Norms of queries and keys by a flag."""
    return biased(card) | {"use_qk_norm": first(card, Attention).qk_norm is not None}


def ernie4_5(card: ModelCard) -> Keys:
    """One flag for all biases."""
    return plain(card) | {"use_bias": first(card, Attention).qkv_bias}


def exaone4(card: ModelCard) -> Keys:
    """Three sliding layers to one; no bias anywhere."""
    return plain(card) | windows(card)
