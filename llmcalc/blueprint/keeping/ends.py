"""What the embedding and the head keep; the loss is a part of its own."""

from __future__ import annotations

from dataclasses import replace

from llmcalc.blueprint.keeping.tensor import Kept, by_norm, kept
from llmcalc.spec.card import ModelCard


def first(card: ModelCard, dims: dict[str, int]) -> tuple[Kept, ...]:
    """Token and position numbers, the input of a projection, and what a norm keeps."""
    embedding = card.embedding
    found = [kept("token numbers", "1", dims, 8, needed_for="table")]
    if embedding.positions:
        found.append(kept("position numbers", "1", dims, 8, per="position", needed_for="table"))
    if embedding.dim:
        found.append(kept("token embedding", "d_emb", dims, feeds=("project_in",), residual=True))
    if embedding.norm:
        inside = by_norm("embedding norm", "d", dims, card.norm, residual=True)
        found += [replace(one, needed_for="table") for one in inside]  # nothing below has gradients
    return tuple(found)


def last(card: ModelCard, dims: dict[str, int]) -> tuple[Kept, ...]:
    """What the final norm keeps, and the inputs of the projection and of the head."""
    found = (
        list(by_norm("final norm", "d", dims, card.norm, residual=True)) if card.final_norm else []
    )
    if card.head:
        inside = "project_out" if card.embedding.dim else "lm_head"
        found.append(kept("input of the head", "d", dims, feeds=(inside,), residual=True))
        if card.embedding.dim:
            name = "projected input of the head"
            found.append(kept(name, "d_emb", dims, feeds=("lm_head",), residual=True))
    return tuple(found)
