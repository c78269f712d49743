"""A card becomes a ledger: one section for the embedding, one a kind of block, one for the head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from llmcalc.blueprint.attention import lower_attention
from llmcalc.blueprint.context import Context, norm
from llmcalc.blueprint.feedforward import lower_mlp, lower_moe
from llmcalc.blueprint.latent_attention import lower_latent_attention
from llmcalc.blueprint.operations import (
    Elementwise,
    Gather,
    Ledger,
    Matmul,
    Operation,
    Section,
)
from llmcalc.blueprint.weight import Weight, weight
from llmcalc.spec.card import Block, ModelCard, Mtp, Tensor
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe
from llmcalc.spec.pattern import layer_names

LOWERINGS: dict[type, Callable[[Any, Context], tuple[Operation, ...]]] = {
    Attention: lower_attention,
    LatentAttention: lower_latent_attention,
    Mlp: lower_mlp,
    Moe: lower_moe,
}


def lower(card: ModelCard, *, absorbed: bool = False) -> Ledger:
    """All operations of a model, per token; `absorbed` as engines decode latent attention.

    The card must have passed the catalog's rules: layers name known blocks and heads divide.
    """
    context = Context(hidden_size=card.hidden_size, norm=card.norm, absorbed=absorbed)
    order = layer_names(card.layers)
    layers = tuple(
        Section(name=name, times=times, operations=_block(card.blocks[name], context), kind="layer")
        for name, times in Counter(order).items()
    )
    return Ledger(
        hidden_size=card.hidden_size,
        sections=(_first(card), *layers, _last(card)),
        order=order,
        mtp=_mtp(card, card.mtp, context) if card.mtp else (),
        tied=card.embedding.tied and card.head,
    )


def _first(card: ModelCard) -> Section:
    """The token table, learned positions, and what leads from them to the first layer."""
    embedding = card.embedding
    dims = {"V": card.vocab_size, "d": card.hidden_size, "d_emb": embedding.dim or card.hidden_size}
    dims |= {"s_max": embedding.positions, "types": embedding.types}
    tables = [
        weight("embed_tokens", "V, d_emb", dims, "embedding", "embedding", units=card.vocab_size)
    ]
    if embedding.positions:
        tables.append(weight("embed_positions", "s_max, d", dims, "embedding", "embedding"))
    if embedding.types:
        tables.append(weight("embed_types", "types, d", dims, "embedding", "embedding"))
    operations: list[Operation] = [Gather(name="embed", weights=tuple(tables))]
    if embedding.dim:
        project = weight("project_in", "d, d_emb", dims, "embedding")
        operations.append(Matmul(name="project_in", weight=project, to_residual=True))
    if embedding.norm:
        operations.append(norm("embed_norm", "d", dims, card.norm))
    operations += [Elementwise(name=extra.name, weights=(_extra(extra),)) for extra in card.extra]
    return Section(name="embedding", times=1, operations=tuple(operations), kind="first")


def _extra(tensor: Tensor) -> Weight:
    dims = {f"n_{axis}": size for axis, size in enumerate(tensor.shape, start=1)}
    return weight(tensor.name, ", ".join(dims), dims, "other", "other")


def _block(block: Block, context: Context) -> tuple[Operation, ...]:
    dims = {"d": context.hidden_size}
    norms = [
        norm(f"norm_{number}", "d", dims, context.norm) for number in range(1, block.norms + 1)
    ]
    parts = [
        operation for part in block.parts for operation in LOWERINGS[type(part)](part, context)
    ]
    return (*norms, *parts)


def _last(card: ModelCard) -> Section:
    """The final norm and the head, which has no weight of its own where it is tied."""
    dims = {
        "V": card.vocab_size,
        "d": card.hidden_size,
        "d_emb": card.embedding.dim or card.hidden_size,
    }
    operations: list[Operation] = []
    if card.final_norm:
        operations.append(norm("final_norm", "d", dims, card.norm))
    if card.head:
        if card.embedding.dim:
            project = weight("project_out", "d_emb, d", dims, "embedding")
            operations.append(Matmul(name="project_out", weight=project, to_residual=True))
        operations.append(_head(card, dims))
    return Section(name="head", times=1, operations=tuple(operations), kind="last")


def _head(card: ModelCard, dims: dict[str, int]) -> Matmul:
    table = weight(
        "lm_head",
        "V, d_emb",
        dims,
        "lm_head",
        "head",
        units=card.vocab_size,
        learned=not card.embedding.tied,
    )
    bias = weight("lm_head.bias", "V", dims, "lm_head", "bias", units=card.vocab_size)
    return Matmul(name="lm_head", weight=table, bias=bias if card.head_bias else None)


def _mtp(card: ModelCard, mtp: Mtp, context: Context) -> tuple[Section, ...]:
    """Each head: two norms, a projection [d, 2·d], one block, a norm; as DeepSeek-V3 stores it."""
    dims = {"d": card.hidden_size, "V": card.vocab_size}
    operations: list[Operation] = [
        norm("mtp.token_norm", "d", dims, card.norm),
        norm("mtp.hidden_norm", "d", dims, card.norm),
        Matmul(
            name="mtp.project",
            weight=weight("mtp.eh_proj", "d, 2·d", dims, "other"),
            to_residual=True,
        ),
        *_block(card.blocks[mtp.block], context),
        norm("mtp.final_norm", "d", dims, card.norm),
    ]
    if mtp.own_embedding:
        table = weight(
            "mtp.embed_tokens", "V, d", dims, "embedding", "embedding", units=card.vocab_size
        )
        operations.append(Gather(name="mtp.embed", weights=(table,)))
    if mtp.own_head:
        head = weight("mtp.lm_head", "V, d", dims, "lm_head", "head", units=card.vocab_size)
        operations.append(Matmul(name="mtp.lm_head", weight=head))
    return (Section(name="mtp", times=mtp.layers, operations=tuple(operations), kind="mtp"),)
