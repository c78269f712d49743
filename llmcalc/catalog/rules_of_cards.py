"""Rules between the parts of a card: head, prediction heads, encoder, towers, listed tensors."""

from __future__ import annotations

from collections.abc import Iterator

from llmcalc.catalog.walk import Broken, parts_of, stacks
from llmcalc.catalog.wording import Path
from llmcalc.spec.card import ModelCard, Tensor
from llmcalc.spec.parts import Attention

MOST_ELEMENTS = 10**12
"""Of one tensor; the largest matrix of any published model has a few 10^10."""


def head_agrees(card: ModelCard) -> Iterator[Broken]:
    """Without an output head there is nothing to tie, to bias or to predict with."""
    if card.head:
        return
    for path, holds in (
        (("embedding", "tied"), card.embedding.tied),
        (("head_bias",), card.head_bias),
        (("mtp",), card.mtp is not None),
    ):
        if holds:
            yield path, "needs an output head, and head is false", "remove it, or head: false"


def encoder_agrees(card: ModelCard) -> Iterator[Broken]:
    """A decoder looks at its encoder, is as wide, and sees only earlier tokens of its own."""
    own = next(stacks(card))
    crossing = [path for path, part in parts_of(own, Attention) if part.cross]
    for stack in list(stacks(card))[1:]:
        for path, part in parts_of(stack, Attention):
            if part.cross:
                hint = "remove cross, or move the part to the blocks of the decoder"
                yield (*path, "cross"), "looks at the encoder, and this is no decoder", hint
    if card.encoder is None:
        if not any(tower.stack for tower in card.towers):
            for path in crossing:
                hint = "add encoder, or remove cross"
                yield (*path, "cross"), "looks at an encoder, and the card has none", hint
        return
    if not crossing:
        hint = "give a block of the decoder `- attn: {cross: true, …}`, or remove encoder"
        yield ("encoder",), "is never looked at", hint
    if card.encoder.hidden_size not in (None, card.hidden_size):
        what = f"{card.encoder.hidden_size} is not the hidden_size {card.hidden_size} of the card"
        yield ("encoder", "hidden_size"), what, "cross-attention reads the encoder at that width"


def causal_agrees(card: ModelCard) -> Iterator[Broken]:
    """A model that sees all its tokens decodes nothing and predicts no further ones."""
    if card.causal:
        return
    for path, holds in ((("encoder",), card.encoder), (("mtp",), card.mtp)):
        if holds:
            what = "needs a decoder, and causal is false"
            yield path, what, f"remove {path[0]}, or causal: false"


def towers_are_whole(card: ModelCard) -> Iterator[Broken]:
    """A tower is itemised or counted, not both, and has a name of its own."""
    seen = {"encoder"} if card.encoder else set()
    for at, tower in enumerate(card.towers):
        path: Path = ("towers", at)
        if tower.stack and tower.params is not None:
            yield (*path, "params"), "counts what stack itemises", "remove params, or stack"
        if not tower.stack and tower.params is None:
            yield path, "has neither stack nor params", "say params, its parameters in all"
        if tower.name in seen:
            yield (*path, "name"), f"{tower.name} is taken", "give it a name of its own"
        seen.add(tower.name)


def tensors_are_sane(card: ModelCard) -> Iterator[Broken]:
    """A listed tensor is named once in its list and not larger than any machine could hold."""
    yield from _sane(("stored",), card.stored)
    yield from _sane(("extra",), card.extra)
    if card.encoder:
        yield from _sane(("encoder", "extra"), card.encoder.extra)
    for at, tower in enumerate(card.towers):
        if tower.stack:
            yield from _sane(("towers", at, "stack", "extra"), tower.stack.extra)
    for stack in stacks(card):
        for name, block in stack.blocks.items():
            yield from _sane((*stack.path, "blocks", name, "extra"), block.extra)


def _sane(root: Path, tensors: tuple[Tensor, ...]) -> Iterator[Broken]:
    seen: set[str] = set()
    for at, tensor in enumerate(tensors):
        elements = 1
        for rows in tensor.shape:
            elements *= rows
        if elements > MOST_ELEMENTS:
            hint = f"at most {MOST_ELEMENTS} are possible; correct the shape"
            yield (*root, at, "shape"), f"means {elements} elements", hint
        if tensor.name in seen:
            hint = "count it once, or give it a name of its own"
            yield (*root, at, "name"), f"{tensor.name} is listed twice", hint
        seen.add(tensor.name)
