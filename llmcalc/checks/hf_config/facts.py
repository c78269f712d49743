"""What the config of nearly every family repeats, read from a card."""

from __future__ import annotations

from typing import Any, TypeVar

from llmcalc.spec.card import Block, ModelCard, Stack, Tensor
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe, Part
from llmcalc.spec.pattern import layer_names

Keys = dict[str, Any]
Kind = TypeVar("Kind", bound=Part)


class NotExpressibleError(Exception):
    """The card says what no config of that family can say."""


def layers(stack: ModelCard | Stack) -> tuple[Block, ...]:
    """The block of every layer, first to last."""
    return tuple(stack.blocks[name] for name in layer_names(stack.layers))


def of(block: Block, kind: type[Kind]) -> Kind | None:
    """The first part of a kind in a block."""
    return next((part for part in block.parts if isinstance(part, kind)), None)


def every(stack: ModelCard | Stack, kind: type[Kind]) -> list[Kind]:
    """The parts of a kind, first layer to last."""
    return [part for block in layers(stack) for part in block.parts if isinstance(part, kind)]


def first(stack: ModelCard | Stack, kind: type[Kind]) -> Kind:
    """The first part of a kind. Raises NotExpressibleError where there is none."""
    found = every(stack, kind)
    if not found:
        raise NotExpressibleError(f"no layer has a part {kind.__name__}")
    return found[0]


def maybe(stack: ModelCard | Stack, kind: type[Kind]) -> Kind | None:
    """The first part of a kind, if there is one."""
    return next(iter(every(stack, kind)), None)


def shape(extra: tuple[Tensor, ...], name: str) -> tuple[int, ...]:
    """The shape of the tensor called `name`. Raises NotExpressibleError where there is none."""
    for tensor in extra:
        if tensor.name == name:
            return tensor.shape
    raise NotExpressibleError(f"no tensor {name} among the extra ones")


def has(extra: tuple[Tensor, ...], start: str) -> bool:
    """Whether a tensor is called like that."""
    return any(tensor.name.startswith(start) for tensor in extra)


def ends(card: ModelCard) -> Keys:
    """Width, vocabulary, context and ties."""
    context = card.max_position_embeddings
    return {
        "hidden_size": card.hidden_size,
        "vocab_size": card.vocab_size,
        "tie_word_embeddings": card.embedding.tied,
    } | ({"max_position_embeddings": context} if context else {})


def base(card: ModelCard) -> Keys:
    """The ends, and how many layers lie between."""
    return ends(card) | {"num_hidden_layers": len(layers(card))}


def heads(card: ModelCard, part: Attention | None = None) -> Keys:
    """Heads, key heads and their size, of the first attention where none is given."""
    part = part or first(card, Attention)
    return {
        "num_attention_heads": part.num_heads,
        "num_key_value_heads": part.num_kv_heads or part.num_heads,
        "head_dim": part.head_dim or card.hidden_size // part.num_heads,
    }


def latent(card: ModelCard) -> Keys:
    """Heads and ranks of latent attention."""
    part = first(card, LatentAttention)
    return {
        "num_attention_heads": part.num_heads,
        "num_key_value_heads": part.num_heads,
        "q_lora_rank": part.q_lora_rank,
        "kv_lora_rank": part.kv_lora_rank,
        "qk_nope_head_dim": part.qk_nope_head_dim,
        "qk_rope_head_dim": part.qk_rope_head_dim,
        "v_head_dim": part.v_head_dim,
    }


def wide(card: ModelCard) -> Keys:
    """How wide the dense feed-forward part is."""
    part = maybe(card, Mlp)
    return {"intermediate_size": part.intermediate_size} if part else {}


def biases(card: ModelCard) -> Keys:
    """One flag for the biases of all four projections, as LLaMA has it."""
    return {"attention_bias": first(card, Attention).o_bias}


def sparse(card: ModelCard) -> list[bool]:
    """Which layers have experts."""
    return [of(block, Moe) is not None for block in layers(card)]


def dense_before(card: ModelCard) -> int:
    """Layers before the first with experts. Raises NotExpressibleError where dense ones follow."""
    told = sparse(card)
    start = told.index(True)
    if not all(told[start:]):
        raise NotExpressibleError("a dense layer after the first with experts")
    return start


def shared_experts(part: Moe) -> int:
    """Shared experts as wide as a routed one, since configs count them."""
    count, left = divmod(part.shared_intermediate_size, part.intermediate_size)
    if left:
        raise NotExpressibleError("shared experts of another width than the routed ones")
    return count


def windows(card: ModelCard) -> Keys:
    """Which layers slide, and how far they see."""
    parts = every(card, Attention)
    seen = {part.window for part in parts} - {None}
    types = ["sliding_attention" if part.window else "full_attention" for part in parts]
    return {"layer_types": types} | ({"sliding_window": min(filter(None, seen))} if seen else {})
