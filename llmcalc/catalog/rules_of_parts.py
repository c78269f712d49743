"""Rules between the fields of one part, wherever in a card it stands."""

from __future__ import annotations

from collections.abc import Iterator

from llmcalc.catalog.walk import Broken, parts, parts_of, stacks
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, LatentAttention, Moe
from llmcalc.spec.recurrent import GatedDeltaNet, Mamba2


def heads_divide(card: ModelCard) -> Iterator[Broken]:
    """The width splits evenly over query heads, and query heads over key and value heads."""
    for stack in stacks(card):
        for path, part in parts_of(stack, Attention):
            heads, kv_heads = part.num_heads, part.num_kv_heads
            if part.head_dim is None and stack.hidden_size % heads:
                yield (
                    (*path, "num_heads"),
                    f"{heads} does not divide hidden_size {stack.hidden_size}",
                    "say head_dim, or correct num_heads",
                )
            if kv_heads is not None and heads % kv_heads:
                yield (
                    (*path, "num_kv_heads"),
                    f"{kv_heads} does not divide num_heads {heads}",
                    "each key and value head serves the same number of query heads",
                )


def rotary_fits(card: ModelCard) -> Iterator[Broken]:
    """No more dimensions rotate than a head has, and they rotate in pairs."""
    for stack in stacks(card):
        for path, part in parts_of(stack, Attention):
            if part.head_dim is None and stack.hidden_size % part.num_heads:
                continue  # said by heads_divide
            head_dim = part.head_dim or stack.hidden_size // part.num_heads
            rotating = head_dim if part.rotary_dim is None else part.rotary_dim
            if rotating > head_dim:
                yield (
                    (*path, "rotary_dim"),
                    f"{rotating} is more than head_dim {head_dim}",
                    "rotary_dim counts dimensions of one head",
                )
            elif rotating % 2 and not part.cross:
                yield (
                    (*path, "head_dim" if part.rotary_dim is None else "rotary_dim"),
                    f"{rotating} dimensions of a head cannot rotate in pairs",
                    "an even rotary_dim; 0 where positions do not rotate",
                )
        for path, latent in parts_of(stack, LatentAttention):
            if latent.qk_rope_head_dim % 2:
                yield (
                    (*path, "qk_rope_head_dim"),
                    f"{latent.qk_rope_head_dim} dimensions of a head cannot rotate in pairs",
                    "an even number",
                )


def keys_can_be_values(card: ModelCard) -> Iterator[Broken]:
    """Where the values are the keys, a value head is as wide as a key head."""
    for stack in stacks(card):
        for path, part in parts_of(stack, Attention):
            head_dim = part.head_dim or stack.hidden_size // part.num_heads
            if part.k_eq_v and part.v_head_dim not in (None, head_dim):
                yield (
                    (*path, "k_eq_v"),
                    f"needs a v_head_dim of head_dim {head_dim}, not {part.v_head_dim}",
                    "leave v_head_dim out, or remove k_eq_v",
                )


def cross_sees_all(card: ModelCard) -> Iterator[Broken]:
    """Cross-attention sees every token of the encoder, without distances, and reuses nothing."""
    for path, part in parts(card, Attention):
        for key in ("window", "relative_buckets", "kv_reuse"):
            if part.cross and getattr(part, key):
                hint = f"remove {key}, or cross"
                yield (*path, key), "has no meaning for cross-attention", hint


def chunks_have_a_size(card: ModelCard) -> Iterator[Broken]:
    """Attention in chunks says how many tokens a chunk has."""
    for path, part in parts(card, Attention):
        if part.chunked and not part.window:
            hint = "say window, the tokens of a chunk, or remove chunked"
            yield (*path, "chunked"), "needs a window", hint


def experts_suffice(card: ModelCard) -> Iterator[Broken]:
    """A token cannot visit more experts than there are; a shared gate needs a shared expert."""
    for path, part in parts(card, Moe):
        if part.num_experts_per_tok > part.num_experts + part.zero_experts:
            idle = f" and zero_experts {part.zero_experts}" if part.zero_experts else ""
            yield (
                (*path, "num_experts_per_tok"),
                f"{part.num_experts_per_tok} is more than num_experts {part.num_experts}{idle}",
                "a token visits some of the experts",
            )
        if part.topk_group > part.n_group:
            yield (
                (*path, "topk_group"),
                f"{part.topk_group} is more than n_group {part.n_group}",
                "a token visits experts of some of the groups",
            )
        if part.shared_gate and not part.shared_intermediate_size:
            yield (
                (*path, "shared_gate"),
                "gates a shared expert that the card does not have",
                "say shared_intermediate_size, or remove shared_gate",
            )


def recurrent_heads_divide(card: ModelCard) -> Iterator[Broken]:
    """Groups of a state-space mixer and key heads of a delta rule serve equally many heads."""
    for path, mamba in parts(card, Mamba2):
        if mamba.num_heads % mamba.n_groups:
            yield (
                (*path, "n_groups"),
                f"{mamba.n_groups} does not divide num_heads {mamba.num_heads}",
                "each group serves the same number of heads",
            )
    for path, delta in parts(card, GatedDeltaNet):
        if delta.num_v_heads % delta.num_k_heads:
            yield (
                (*path, "num_k_heads"),
                f"{delta.num_k_heads} does not divide num_v_heads {delta.num_v_heads}",
                "each key head serves the same number of value heads",
            )
