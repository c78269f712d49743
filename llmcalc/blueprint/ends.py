"""What stands before the first layer and after the last: token table, positions, norm, head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmcalc.blueprint.context import norm
from llmcalc.blueprint.operations import Gather, Matmul, Operation, Section
from llmcalc.blueprint.stack import extras
from llmcalc.blueprint.weight import weight
from llmcalc.spec.card import ModelCard

if TYPE_CHECKING:
    from llmcalc.blueprint.keeping.tensor import Kept


def first(card: ModelCard, *, training: bool = False) -> Section:
    """The token table, learned positions, and what leads from them to the first layer."""
    embedding, dims = card.embedding, _dims(card)
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
    kept = _kept(card, dims, "first") if training else ()
    everything = (*operations, *extras(card.extra))
    return Section(name="embedding", times=1, operations=everything, kind="first", kept=kept)


def last(card: ModelCard, *, training: bool = False) -> Section:
    """The final norm and the head, which has no weight of its own where it is tied."""
    dims = _dims(card)
    operations: list[Operation] = []
    if card.final_norm:
        operations.append(norm("final_norm", "d", dims, card.norm))
    if card.head:
        if card.embedding.dim:
            project = weight("project_out", "d_emb, d", dims, "embedding")
            operations.append(Matmul(name="project_out", weight=project, to_residual=True))
        operations.append(_head(card, dims))
    kept = _kept(card, dims, "last") if training else ()
    return Section(name="head", times=1, operations=tuple(operations), kind="last", kept=kept)


def _kept(
    card: ModelCard, dims: dict[str, int], which: Literal["first", "last"]
) -> tuple[Kept, ...]:
    from llmcalc.blueprint.keeping import ends  # noqa: PLC0415  only for training

    return ends.first(card, dims) if which == "first" else ends.last(card, dims)


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


def _dims(card: ModelCard) -> dict[str, int]:
    embedding = card.embedding
    return {
        "V": card.vocab_size,
        "d": card.hidden_size,
        "d_emb": embedding.dim or card.hidden_size,
        "s_max": embedding.positions,
        "types": embedding.types,
    }
