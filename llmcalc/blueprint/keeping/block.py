"""What one layer keeps: norms where the placement puts them, inputs of parts, and the parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from llmcalc.blueprint.context import Context
from llmcalc.blueprint.keeping.attention import (
    kept_by_attention,
    kept_by_latent_attention,
    passing_by_attention,
    passing_by_latent_attention,
)
from llmcalc.blueprint.keeping.feedforward import (
    kept_by_mlp,
    kept_by_moe,
    passing_by_mlp,
    passing_by_moe,
)
from llmcalc.blueprint.keeping.recurrent import (
    kept_by_gated_deltanet,
    kept_by_kimi_delta,
    kept_by_lightning,
    kept_by_mamba1,
    kept_by_mamba2,
    kept_by_rwkv_channel,
    kept_by_rwkv_time,
)
from llmcalc.blueprint.keeping.tensor import Kept, Passing, by_norm, kept, let_go
from llmcalc.spec.card import Block
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe
from llmcalc.spec.recurrent import (
    GatedDeltaNet,
    KimiDelta,
    Lightning,
    Mamba1,
    Mamba2,
    RwkvChannel,
    RwkvTime,
)

KEEPING: dict[type, Callable[[Any, Context], tuple[Kept, ...]]] = {
    Attention: kept_by_attention,
    LatentAttention: kept_by_latent_attention,
    GatedDeltaNet: kept_by_gated_deltanet,
    KimiDelta: kept_by_kimi_delta,
    Lightning: kept_by_lightning,
    Mamba1: kept_by_mamba1,
    Mamba2: kept_by_mamba2,
    RwkvTime: kept_by_rwkv_time,
    RwkvChannel: kept_by_rwkv_channel,
    Mlp: kept_by_mlp,
    Moe: kept_by_moe,
}
"""What each kind of part keeps, its input apart."""


PASSING: dict[type, Callable[[Any, Context], tuple[Passing, ...]]] = {
    Attention: passing_by_attention,
    LatentAttention: passing_by_latent_attention,
    Mlp: passing_by_mlp,
    Moe: passing_by_moe,
}
"""What passes through each kind of part on the way back; through others, the widest tensor's."""


ENTERED: dict[type, tuple[str, ...]] = {
    Attention: ("q", "k", "v", "output_gate"),
    LatentAttention: ("q", "q_a", "kv_a"),
    GatedDeltaNet: ("in_qk", "in_v", "in_z", "in_ba"),
    KimiDelta: ("q", "k", "v", "f_a", "b", "g_a"),
    Lightning: ("qkv", "output_gate"),
    Mamba1: ("in_x", "in_z"),
    Mamba2: ("in_z", "in_x", "in_BC", "in_dt"),
    RwkvTime: (),
    RwkvChannel: (),
    Mlp: ("gate", "up"),
    Moe: ("router", "latent_in", "shared_expert.gate", "shared_expert.up", "shared_expert_gate"),
}
"""Products that see the input of each kind of part; none where scales alone need it."""


class Inside(NamedTuple):
    """What one part keeps, in the order of the forward pass."""

    before: tuple[Kept, ...]
    """Norms in front of it, and its input."""
    part: tuple[Kept, ...]
    behind: tuple[Kept, ...] = ()
    """A norm of what it puts out."""


def kept_by_block(block: Block, context: Context) -> tuple[Kept, ...]:
    """Everything that one layer keeps."""
    return tuple(one for inside in _by_part(block, context) for held in inside for one in held)


def passing_by_block(block: Block, context: Context) -> tuple[Passing, ...]:
    """The points of a layer's backward pass where most may stand, the last part's first.

    Each part is gone back through when what comes behind it has let go of what it kept.
    """
    found: list[Passing] = []
    gone: list[Kept] = []
    for part, inside in zip(reversed(block.parts), reversed(_by_part(block, context)), strict=True):
        gone += inside.behind
        passing = PASSING.get(type(part))
        for one in passing(part, context) if passing else (_widest(inside.part),):
            tensors = (*one.tensors, *let_go(gone))
            found.append(Passing(tensors, one.done if part is block.parts[-1] else "all"))
        gone += (*inside.before, *inside.part)
    return (*found, Passing(let_go(gone), "all"))


def _widest(inside: tuple[Kept, ...]) -> Passing:
    """Gradients of the widest tensor and of what it was computed from; not measured."""
    one = max((one for one in inside if one.per == "token"), key=lambda one: one.elements)
    return Passing((kept("gradients of the widest and its source", f"2·({one.text})", one.dims),))


def _by_part(block: Block, context: Context) -> tuple[Inside, ...]:
    dims = {"d": context.hidden_size}
    norm = by_norm("norm", "d", dims, context.norm, residual=True) if block.norms else ()
    inside = [KEEPING[type(part)](part, context) for part in block.parts]
    entries = [
        kept("input of a part", "d", dims, needed_for="table", feeds=ENTERED[type(part)],
             residual=True)
        for part in block.parts
    ]  # fmt: skip
    if block.placement == "parallel":
        first = Inside(_parallel(block, context, norm, entries), inside[0])
        return (first, *(Inside((), one) for one in inside[1:]))
    in_front = norm if block.placement in {"pre", "sandwich"} else ()
    behind = norm if block.placement != "pre" else ()
    return tuple(
        Inside((*in_front, entry), one, behind) for entry, one in zip(entries, inside, strict=True)
    )


def _parallel(
    block: Block, context: Context, norm: tuple[Kept, ...], entries: list[Kept]
) -> tuple[Kept, ...]:
    """All norms see the same input, which torch's LayerNorm keeps once."""
    inputs = min(len(block.parts), max(block.norms, 1))
    last = tuple(name for entry in entries[inputs - 1 :] for name in entry.feeds)
    shared = max(block.norms - 1, 0) if context.norm != "rms" else 0
    once = [one for one in norm if one.name == "norm input"][:1]
    every = list(norm * block.norms)
    for one in once * shared:
        every.remove(one)
    return (*every, *entries[: inputs - 1], replace(entries[inputs - 1], feeds=last))
