"""Rules of blocks and layer patterns, for the model itself, its encoder and its towers."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from llmcalc.catalog.suggest import did_you_mean
from llmcalc.catalog.walk import Broken, Layers, stacks
from llmcalc.catalog.wording import Path, quoted
from llmcalc.spec.card import Block, ModelCard
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe
from llmcalc.spec.pattern import LONGEST, PatternError, layer_names

_PATTERN_HINT = "write block names with counts and brackets, as 3*dense or 10*(5*local global)"


def blocks_exist(card: ModelCard) -> Iterator[Broken]:
    """A stack has at least one kind of layer, and a layer at least one part."""
    for stack in stacks(card):
        path: Path = (*stack.path, "blocks")
        if not stack.blocks:
            yield path, "names no block", "describe one kind of layer, as `dense: {parts: […]}`"
        for name, block in stack.blocks.items():
            if not block.parts:
                what = "is empty, so the layer does nothing"
                yield (*path, name, "parts"), what, "give it a part, as `- attn: {…}`"


def layers_name_blocks(card: ModelCard) -> Iterator[Broken]:
    """Every pattern parses, names known blocks only, and no block is left over."""
    for stack in stacks(card):
        yield from _layers_name_blocks(stack)


def _layers_name_blocks(stack: Layers) -> Iterator[Broken]:
    used, readable, total = set(stack.also_used), True, 0
    root: Path = (*stack.path, "layers")
    if not stack.layers:
        yield root, "is empty", "say how often each block repeats, as [32*dense]"
    for at, pattern in enumerate(stack.layers):
        try:
            layers = layer_names((pattern,))
        except PatternError as error:
            readable = False
            what = f"{quoted(pattern)} is no layer pattern: {str(error)[:80]}"
            yield (*root, at), what, _PATTERN_HINT
            continue
        total += len(layers)
        if total > LONGEST:
            what = f"brings the model to more than {LONGEST} layers"
            yield (*root, at), what, "lower the counts"
            return
        used |= set(layers)
        for name in dict.fromkeys(layers):
            yield from _unknown_block(stack.blocks, (*root, at), name)
            readable = readable and name in stack.blocks
    # After a slip in a pattern, the block it meant would be reported a second time.
    if readable and stack.layers:
        yield from _left_over(stack, used)


def _left_over(stack: Layers, used: set[str]) -> Iterator[Broken]:
    for name in stack.blocks:
        if name not in used:
            hint = "name it in layers, or remove it" if stack.path else _LEFT_OVER_HINT
            yield (*stack.path, "blocks", name), "is a block that no layer uses", hint


_LEFT_OVER_HINT = "name it in layers or mtp, or remove it"


def _unknown_block(blocks: Collection[str], path: Path, name: str) -> Iterator[Broken]:
    if name not in blocks:
        hint = did_you_mean(name, tuple(blocks)) if blocks else "add it to blocks"
        yield path, f"names {quoted(name)}, which is no block of this card", hint


def mtp_block_exists(card: ModelCard) -> Iterator[Broken]:
    """The prediction heads repeat a block of this card."""
    if card.mtp:
        yield from _unknown_block(card.blocks, ("mtp", "block"), card.mtp.block)


def reused_caches_exist(card: ModelCard) -> Iterator[Broken]:
    """A layer can read the cache of an earlier layer only where one keeps a cache."""
    for stack in stacks(card):
        try:
            order = dict.fromkeys(layer_names(stack.layers))
        except PatternError:
            continue  # said by layers_name_blocks
        kept = False
        for name in [*order, *(stack.also_used - order.keys())]:
            if name not in stack.blocks:
                continue
            block, path = stack.blocks[name], (*stack.path, "blocks", name, "parts")
            for at, part in enumerate(block.parts):
                if isinstance(part, Attention) and part.kv_reuse and not part.cross and not kept:
                    yield (*path, at, "attn", "kv_reuse"), *_nothing_kept(stack)
            kept = kept or (stack.caches and _keeps_a_cache(block))


def _nothing_kept(stack: Layers) -> tuple[str, str]:
    if not stack.caches:
        return "reads a cache, and these layers see all tokens and keep none", "remove kv_reuse"
    return "reads the cache of an earlier layer, and none keeps one", "remove kv_reuse"


def _keeps_a_cache(block: Block) -> bool:
    return any(
        isinstance(part, Attention) and not part.kv_reuse and not part.cross for part in block.parts
    )


def only_attention_looks_both_ways(card: ModelCard) -> Iterator[Broken]:
    """Layers that see all tokens at once have no part that keeps a latent or a state."""
    for stack in stacks(card):
        if stack.caches:
            continue
        for name, block in stack.blocks.items():
            for at, part in enumerate(block.parts):
                if not isinstance(part, Attention | Mlp | Moe):
                    kept = "a cache" if isinstance(part, LatentAttention) else "a state"
                    path = (*stack.path, "blocks", name, "parts", at, part.kind)
                    yield path, f"keeps {kept}, and these layers see all tokens at once", _CAUSAL


_CAUSAL = "only attn, mlp and moe can stand in an encoder, a tower or a card with causal: false"
