"""The stacks of layers in a card and their parts, each with its place in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from llmcalc.catalog.wording import Path
from llmcalc.spec.card import Block, ModelCard, Stack
from llmcalc.spec.parts import Part

P = TypeVar("P", bound=Part)
Broken = tuple[Path, str, str]
"""Path in the file, what is wrong there, what to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """The blocks of the model itself, of its encoder or of a tower, alike to every rule."""

    path: Path
    hidden_size: int
    blocks: Mapping[str, Block]
    layers: tuple[str, ...]
    caches: bool
    """Whether tokens come one by one, so that layers keep something of those before."""
    also_used: frozenset[str] = frozenset()
    """Blocks that stand elsewhere than in `layers`."""


def stacks(card: ModelCard) -> Iterator[Layers]:
    """The model's own layers, then those beside them."""
    yield Layers(
        path=(),
        hidden_size=card.hidden_size,
        blocks=card.blocks,
        layers=card.layers,
        caches=card.causal,
        also_used=frozenset({card.mtp.block} if card.mtp else ()),
    )
    if card.encoder:
        yield _beside(card, card.encoder, ("encoder",))
    for at, tower in enumerate(card.towers):
        if tower.stack:
            yield _beside(card, tower.stack, ("towers", at, "stack"))


def _beside(card: ModelCard, stack: Stack, path: Path) -> Layers:
    width = stack.hidden_size or card.hidden_size
    return Layers(
        path=path, hidden_size=width, blocks=stack.blocks, layers=stack.layers, caches=False
    )


def parts_of(stack: Layers, kind: type[P]) -> Iterator[tuple[Path, P]]:
    """Every part of a kind in one stack."""
    for name, block in stack.blocks.items():
        for at, part in enumerate(block.parts):
            if isinstance(part, kind):
                yield (*stack.path, "blocks", name, "parts", at, part.kind), part


def parts(card: ModelCard, kind: type[P]) -> Iterator[tuple[Path, P]]:
    """Every part of a kind in the whole card."""
    for stack in stacks(card):
        yield from parts_of(stack, kind)
