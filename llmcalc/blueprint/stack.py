"""Layers as sections: one for each kind of block, with how often it repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from llmcalc.blueprint.context import Context, norm
from llmcalc.blueprint.kinds import LOWERINGS
from llmcalc.blueprint.operations import (
    Elementwise,
    Operation,
    Section,
    Stream,
)
from llmcalc.blueprint.weight import Component, Weight, weight
from llmcalc.spec.card import Block, ModelCard, Stack, Tensor, Tower
from llmcalc.spec.pattern import layer_names

if TYPE_CHECKING:
    from llmcalc.blueprint.keeping.tensor import Kept, Passing


def layer_sections(
    blocks: Mapping[str, Block], order: Iterable[str], context: Context
) -> tuple[Section, ...]:
    """A section for each block that occurs in `order`."""
    return tuple(
        Section(
            name=name, times=times, operations=block(blocks[name], context), kind="layer",
            width=context.hidden_size, placement=blocks[name].placement,
            kept=_kept(blocks[name], context), passing=_passing(blocks[name], context),
        )
        for name, times in Counter(order).items()
    )  # fmt: skip


def _kept(one: Block, context: Context) -> tuple[Kept, ...]:
    if not context.training:
        return ()
    from llmcalc.blueprint.keeping.block import kept_by_block  # noqa: PLC0415  only for training

    return kept_by_block(one, context)


def _passing(one: Block, context: Context) -> tuple[Passing, ...]:
    if not context.training:
        return ()
    from llmcalc.blueprint.keeping.block import passing_by_block  # noqa: PLC0415  only for training

    return passing_by_block(one, context)


def block(one: Block, context: Context) -> tuple[Operation, ...]:
    """The operations of one layer: its norms, its parts, its tensors of its own."""
    dims = {"d": context.hidden_size}
    norms = [norm(f"norm_{number}", "d", dims, context.norm) for number in range(1, one.norms + 1)]
    parts = [operation for part in one.parts for operation in LOWERINGS[type(part)](part, context)]
    return (*norms, *parts, *extras(one.extra))


def extras(tensors: Iterable[Tensor]) -> tuple[Elementwise, ...]:
    """Tensors that occur in one family only, as operations without arithmetic."""
    return tuple(Elementwise(name=one.name, weights=(_extra(one),)) for one in tensors)


def _extra(tensor: Tensor) -> Weight:
    dims = {f"n_{axis}": size for axis, size in enumerate(tensor.shape, start=1)}
    return weight(tensor.name, ", ".join(dims), dims, "other", "other")


def encoder_sections(
    card: ModelCard, encoder: Stack, *, training: bool = False
) -> tuple[Section, ...]:
    """The encoder of an encoder-decoder model, whose layers see all its tokens."""
    return _beside(card, encoder, "encoder", "encoder", training=training)


def tower_sections(card: ModelCard, tower: Tower) -> tuple[Section, ...]:
    """A tower of another modality; its weights count as vision, or as other where it hears."""
    component: Component = "vision" if tower.modality == "vision" else "other"
    if tower.stack is None:
        dims = {"n": tower.params or 0}
        whole = weight(tower.name, "n", dims, component, "other")
        bare = Elementwise(name=tower.name, weights=(whole,))
        return (_first_of(tower.name, (bare,), "tower"),)
    sections = _beside(card, tower.stack, tower.name, "tower")
    merged = tower.patches_per_token
    return tuple(one._replace(component=component, per_token=merged) for one in sections)


def _beside(
    card: ModelCard, stack: Stack, name: str, stream: Stream, *, training: bool = False
) -> tuple[Section, ...]:
    """Layers, final norm and own tensors of a stack, named for it and for whose tokens it sees."""
    width, kind = stack.hidden_size or card.hidden_size, stack.norm or card.norm
    context = Context(hidden_size=width, norm=kind, causal=False, training=training)
    layers = layer_sections(stack.blocks, layer_names(stack.layers), context)
    ends = list(extras(stack.extra))
    if stack.final_norm:
        ends.append(norm("final_norm", "d", {"d": width}, kind))
    sections = tuple(
        one._replace(name=f"{name}.{one.name}", kind="beside", stream=stream) for one in layers
    )
    return (*sections, _first_of(f"{name}.ends", tuple(ends), stream)) if ends else sections


def _first_of(name: str, operations: tuple[Operation, ...], stream: Stream) -> Section:
    return Section(name=name, times=1, operations=operations, kind="first", stream=stream)
