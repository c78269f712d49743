"""Which layers does llama.cpp put on which device? The last ones go first, the table never.

`--n-gpu-layers n` counts the output head as one layer more than the model has: of L layers the
last n - 1 and the head go to the devices, all of them where n > L. A layer's cache lies where the
layer does. Several devices take runs of layers in proportion to `--tensor-split`, which is their
free memory unless given. Source: llama_model::load_tensors in src/llama-model.cpp of
https://github.com/ggml-org/llama.cpp.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from llmcalc.blueprint.operations import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What one device, or the host, holds."""

    layers: tuple[str, ...]
    """Section names, first to last."""
    weights: int
    """Bytes of the layers, and of the table or the head where it lies here."""
    head: bool = False
    """Whether the output head is here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The host and the devices, in order."""

    host: Place
    devices: tuple[Place, ...]


def split(
    order: Sequence[str],
    *,
    n_gpu_layers: int,
    devices: Sequence[float],
    layer_bytes: Callable[[str], int],
    table_bytes: int,
    head_bytes: int,
) -> Split:
    """Deal out the layers of a model.

    `devices` are the proportions of `--tensor-split`. `layer_bytes` gives the weights of one layer
    by section name. A tied head needs bytes of its own on a device, as a copy of the table; on the
    host it is the table: give `head_bytes` as the copy, and 0 where n_gpu_layers is 0.
    """
    count = len(order) + 1
    start = max(count - max(n_gpu_layers, 0), 0)
    active = count - start
    shares = [share / sum(devices) for share in accumulate(devices)]
    dealt: list[list[int]] = [[] for _ in devices]
    for index in range(start, count):
        device = bisect_right(shares, (index - start) / active)
        dealt[min(device, len(dealt) - 1)].append(index)
    places = tuple(_place(order, indexes, layer_bytes, 0, head_bytes) for indexes in dealt)
    host = _place(order, list(range(start)), layer_bytes, table_bytes, head_bytes)
    return Split(host=host, devices=places)


def _place(
    order: Sequence[str],
    indexes: list[int],
    layer_bytes: Callable[[str], int],
    table_bytes: int,
    head_bytes: int,
) -> Place:
    names = tuple(order[index] for index in indexes if index < len(order))
    head = len(order) in indexes
    size = sum(layer_bytes(name) * times for name, times in Counter(names).items())
    size += table_bytes + (head_bytes if head else 0)
    return Place(layers=names, weights=size, head=head)


def share(ledger: Ledger, layers: Sequence[str]) -> Ledger:
    """The ledger of some of the layers, for the cache that lies beside them."""
    counts = Counter(layers)
    sections = tuple(
        section._replace(times=counts[section.name])
        for section in ledger.sections
        if section.kind == "layer" and section.name in counts
    )
    return ledger._replace(sections=sections, order=tuple(layers), whole=ledger.whole or ledger)
