"""Configs of GPT-2 and its time."""

from __future__ import annotations

from llmcalc.checks.hf_config.facts import (
    Keys,
    NotExpressibleError,
    base,
    biases,
    ends,
    every,
    first,
    heads,
    layers,
    wide,
)
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, Mlp


def gpt2(card: ModelCard) -> Keys:
    """Sizes under names of their own."""
    return {
        "n_embd": card.hidden_size,
        "n_layer": len(layers(card)),
        "n_head": first(card, Attention).num_heads,
        "n_inner": first(card, Mlp).intermediate_size,
        "n_positions": card.embedding.positions,
        "vocab_size": card.vocab_size,
        "tie_word_embeddings": card.embedding.tied,
    }


def gpt_bigcode(card: ModelCard) -> Keys:
    """One key head, or as many as query heads."""
    part = first(card, Attention)
    return gpt2(card) | {"multi_query": part.num_kv_heads == 1 != part.num_heads}


def gptj(card: ModelCard) -> Keys:
    """Rotary positions on some dimensions of a head."""
    context, rotary = card.max_position_embeddings, first(card, Attention).rotary_dim
    return gpt2(card) | {"n_positions": context, "rotary_dim": rotary}


def gpt_neo(card: ModelCard) -> Keys:
    """Global and local layers by turns."""
    kinds = ["local" if part.window else "global" for part in every(card, Attention)]
    reach = next(filter(None, (part.window for part in every(card, Attention))), 256)
    return (
        ends(card)
        | wide(card)
        | {
            "num_layers": len(kinds),
            "num_heads": first(card, Attention).num_heads,
            "attention_types": [[kinds, 1]],
            "window_size": reach,
            "max_position_embeddings": card.embedding.positions,
        }
    )


def gpt_neox(card: ModelCard) -> Keys:
    """Attention and feed-forward part side by side, or one after the other."""
    beside = layers(card)[0].placement == "parallel"
    part = first(card, Attention)
    head = card.hidden_size // part.num_heads
    share = 1.0 if part.rotary_dim is None else part.rotary_dim / head
    keys = base(card) | wide(card) | biases(card) | {"num_attention_heads": part.num_heads}
    return keys | {"use_parallel_residual": beside, "rotary_pct": share}


def opt(card: ModelCard) -> Keys:
    """Two rows of positions more than the context; one model norms behind its parts."""
    before = layers(card)[0].placement == "pre"
    return base(card) | {
        "num_attention_heads": first(card, Attention).num_heads,
        "ffn_dim": first(card, Mlp).intermediate_size,
        "word_embed_proj_dim": card.embedding.dim or card.hidden_size,
        "max_position_embeddings": card.embedding.positions - 2,
        "do_layer_norm_before": before,
        "_remove_final_layer_norm": before and not card.final_norm,
        "enable_bias": first(card, Attention).o_bias,
    }


def bloom(card: ModelCard) -> Keys:
    """A feed-forward part four times as wide, always."""
    if first(card, Mlp).intermediate_size != 4 * card.hidden_size:
        raise NotExpressibleError("the feed-forward part is not four times as wide as the model")
    sizes = {"n_layer": len(layers(card)), "n_head": first(card, Attention).num_heads}
    kept = ("hidden_size", "vocab_size", "tie_word_embeddings")
    return {key: ends(card)[key] for key in kept} | sizes


def falcon(card: ModelCard) -> Keys:
    """The newer architecture has groups of key heads and two norms."""
    part, block = first(card, Attention), layers(card)[0]
    kv = part.num_kv_heads or part.num_heads
    groups = {"num_kv_heads": kv, "num_ln_in_parallel_attn": block.norms}
    return base(card) | {
        "num_attention_heads": part.num_heads,
        "new_decoder_architecture": kv > 1,
        "parallel_attn": block.placement == "parallel",
        "bias": part.o_bias,
        "alibi": part.rotary_dim == 0,
        "ffn_hidden_size": first(card, Mlp).intermediate_size,
    } | (groups if kv > 1 else {"multi_query": True})  # fmt: skip


def mpt(card: ModelCard) -> Keys:
    """Sizes under names of their own."""
    return {
        "d_model": card.hidden_size,
        "n_layers": len(layers(card)),
        "n_heads": first(card, Attention).num_heads,
        "expansion_ratio": first(card, Mlp).intermediate_size // card.hidden_size,
        "vocab_size": card.vocab_size,
        "tie_word_embeddings": card.embedding.tied,
        "max_seq_len": card.max_position_embeddings,
    }


def phi(card: ModelCard) -> Keys:
    """Attention with biases everywhere, on which the class leaves no choice."""
    keys = {key: value for key, value in heads(card).items() if key != "head_dim"}
    return base(card) | keys | wide(card)
