"""Rules between the fields of a card or a spec, which a type cannot say: one function a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from llmcalc.catalog.suggest import did_you_mean
from llmcalc.catalog.wording import Path, quoted
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec
from llmcalc.spec.parts import Attention, Moe, Part
from llmcalc.spec.pattern import LONGEST, PatternError, layer_names

P = TypeVar("P", bound=Part)
Broken = tuple[Path, str, str]
"""Path in the file, what is wrong there, what to do about it."""

MOST_ELEMENTS = 10**12
"""Of one tensor; the largest matrix of any published model has a few 10^10."""


def broken(value: object) -> Iterator[Broken]:
    """Every rule that a card or a spec breaks."""
    if isinstance(value, ModelCard):
        for rule in CARD_RULES:
            yield from rule(value)
    elif isinstance(value, GpuSpec):
        for gpu_rule in GPU_RULES:
            yield from gpu_rule(value)


def _parts(card: ModelCard, kind: type[P]) -> Iterator[tuple[Path, P]]:
    for name, block in card.blocks.items():
        for at, part in enumerate(block.parts):
            if isinstance(part, kind):
                yield ("blocks", name, "parts", at, part.kind), part


def blocks_exist(card: ModelCard) -> Iterator[Broken]:
    """A model has at least one kind of layer, and a layer at least one part."""
    if not card.blocks:
        yield ("blocks",), "names no block", "describe one kind of layer, as `dense: {parts: […]}`"
    for name, block in card.blocks.items():
        if not block.parts:
            path: Path = ("blocks", name, "parts")
            yield path, "is empty, so the layer does nothing", "give it a part, as `- attn: {…}`"


def heads_divide(card: ModelCard) -> Iterator[Broken]:
    """The width splits evenly over query heads, and query heads over key and value heads."""
    for path, part in _parts(card, Attention):
        heads, kv_heads = part.num_heads, part.num_kv_heads
        if part.head_dim is None and card.hidden_size % heads:
            yield (
                (*path, "num_heads"),
                f"{heads} does not divide hidden_size {card.hidden_size}",
                "say head_dim, or correct num_heads",
            )
        if kv_heads is not None and heads % kv_heads:
            yield (
                (*path, "num_kv_heads"),
                f"{kv_heads} does not divide num_heads {heads}",
                "each key and value head serves the same number of query heads",
            )


def rotary_fits(card: ModelCard) -> Iterator[Broken]:
    """No more dimensions rotate than a head has."""
    for path, part in _parts(card, Attention):
        if part.head_dim is None and card.hidden_size % part.num_heads:
            continue  # said by heads_divide
        head_dim = part.head_dim or card.hidden_size // part.num_heads
        if (part.rotary_dim or 0) > head_dim:
            yield (
                (*path, "rotary_dim"),
                f"{part.rotary_dim} is more than head_dim {head_dim}",
                "rotary_dim counts dimensions of one head",
            )


def experts_suffice(card: ModelCard) -> Iterator[Broken]:
    """A token cannot visit more experts than there are; a shared gate needs a shared expert."""
    for path, part in _parts(card, Moe):
        if part.num_experts_per_tok > part.num_experts:
            yield (
                (*path, "num_experts_per_tok"),
                f"{part.num_experts_per_tok} is more than num_experts {part.num_experts}",
                "a token visits some of the experts",
            )
        if part.shared_gate and not part.shared_intermediate_size:
            yield (
                (*path, "shared_gate"),
                "gates a shared expert that the card does not have",
                "say shared_intermediate_size, or remove shared_gate",
            )


def layers_name_blocks(card: ModelCard) -> Iterator[Broken]:
    """Every pattern parses, names known blocks only, and no block is left over."""
    used: set[str] = {card.mtp.block} if card.mtp else set()
    readable, total = True, 0
    if not card.layers:
        yield ("layers",), "is empty", "say how often each block repeats, as [32*dense]"
    for at, pattern in enumerate(card.layers):
        path: Path = ("layers", at)
        try:
            layers = layer_names((pattern,))
        except PatternError as error:
            readable = False
            yield path, f"{quoted(pattern)} is no layer pattern: {str(error)[:80]}", _PATTERN_HINT
            continue
        total += len(layers)
        if total > LONGEST:
            yield path, f"brings the model to more than {LONGEST} layers", "lower the counts"
            return
        used |= set(layers)
        for name in dict.fromkeys(layers):
            yield from _unknown_block(card, path, name)
            readable = readable and name in card.blocks
    for name in card.blocks:
        # After a slip in a pattern, the block it meant would be reported a second time.
        if name not in used and readable and card.layers:
            hint = "name it in layers or mtp, or remove it"
            yield ("blocks", name), "is a block that no layer uses", hint


_PATTERN_HINT = "write block names with counts and brackets, as 3*dense or 10*(5*local global)"


def _unknown_block(card: ModelCard, path: Path, name: str) -> Iterator[Broken]:
    if name not in card.blocks:
        hint = did_you_mean(name, tuple(card.blocks)) if card.blocks else "add it to blocks"
        yield path, f"names {quoted(name)}, which is no block of this card", hint


def mtp_block_exists(card: ModelCard) -> Iterator[Broken]:
    """The prediction heads repeat a block of this card."""
    if card.mtp:
        yield from _unknown_block(card, ("mtp", "block"), card.mtp.block)


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


def tensors_are_sane(card: ModelCard) -> Iterator[Broken]:
    """A listed tensor is named once in its list and not larger than any machine could hold."""
    for key, tensors in (("stored", card.stored), ("extra", card.extra)):
        seen: set[str] = set()
        for at, tensor in enumerate(tensors):
            elements = 1
            for rows in tensor.shape:
                elements *= rows
            path: Path = (key, at)
            if elements > MOST_ELEMENTS:
                hint = f"at most {MOST_ELEMENTS} are possible; correct the shape"
                yield (*path, "shape"), f"means {elements} elements", hint
            if tensor.name in seen:
                hint = "count it once, or give it a name of its own"
                yield (*path, "name"), f"{tensor.name} is listed twice", hint
            seen.add(tensor.name)


def memory_is_known(spec: GpuSpec) -> Iterator[Broken]:
    """A device without any memory size cannot answer what fits."""
    memory = spec.memory
    if not (memory.marketed_gb or memory.reported_mib or memory.torch_gib):
        yield ("memory",), "gives no size", "say marketed_gb, reported_mib or torch_gib"


def memory_agrees(spec: GpuSpec) -> Iterator[Broken]:
    """What driver and torch report lies near the marketed size, else a unit is wrong."""
    memory = spec.memory
    if memory.marketed_gb is None:
        return
    for key, gib in (
        ("reported_mib", (memory.reported_mib or 0) / 1024),
        ("torch_gib", memory.torch_gib or 0),
    ):
        if gib and not memory.marketed_gb / 2 <= gib <= memory.marketed_gb * 1.1:
            yield (
                ("memory", key),
                f"is {gib:.4g} GiB, which cannot be of a device sold with {memory.marketed_gb:g}",
                "reported_mib is in MiB, torch_gib in GiB, marketed_gb as on the box",
            )


CARD_RULES: tuple[Callable[[ModelCard], Iterator[Broken]], ...] = (
    blocks_exist,
    heads_divide,
    rotary_fits,
    experts_suffice,
    layers_name_blocks,
    mtp_block_exists,
    head_agrees,
    tensors_are_sane,
)
GPU_RULES: tuple[Callable[[GpuSpec], Iterator[Broken]], ...] = (
    memory_is_known,
    memory_agrees,
)
