"""A card becomes a ledger: sections for embedding, each kind of block, encoder, towers and head."""

from __future__ import annotations

from llmcalc.blueprint.context import Context
from llmcalc.blueprint.ends import first, last
from llmcalc.blueprint.mtp import mtp_sections
from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.stack import encoder_sections, layer_sections, tower_sections
from llmcalc.spec.card import ModelCard
from llmcalc.spec.pattern import layer_names


def lower(card: ModelCard, *, absorbed: bool = False, training: bool = False) -> Ledger:
    """All operations of a model, per token.

    `absorbed` as engines decode latent attention, `training` with what sections keep for a backward
    pass.

    The card must have passed the catalog's rules: layers name known blocks and heads divide.
    """
    length = card.encoder.length if card.encoder else None
    context = Context(
        hidden_size=card.hidden_size,
        norm=card.norm,
        absorbed=absorbed,
        causal=card.causal,
        training=training,
        encoder_length=length,
    )
    order = layer_names(card.layers)
    beside = encoder_sections(card, card.encoder, training=training) if card.encoder else ()
    for tower in card.towers:
        beside += tower_sections(card, tower)
    layers = layer_sections(card.blocks, order, context)
    return Ledger(
        hidden_size=card.hidden_size,
        sections=(first(card, training=training), *beside, *layers, last(card, training=training)),
        order=order,
        mtp=mtp_sections(card, card.mtp, context) if card.mtp else (),
        encoder_length=length,
        family=card.family,
    )
