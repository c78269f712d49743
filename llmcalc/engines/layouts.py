"""Which layout of the cache and which scratch space an engine's data asks for.

A layout is imported when an engine has it: a question about one engine does not load the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from llmcalc.blueprint.operations import Ledger
from llmcalc.engines import kv
from llmcalc.engines.holding import Grown, Holding
from llmcalc.engines.kv_format import KvFormats
from llmcalc.engines.scratch import Scratch, profile_run, widest_layer
from llmcalc.engines.serving import Serving
from llmcalc.spec.block_rules import BlockRules
from llmcalc.spec.runtime import CellCache, LayerScratch, PoolCache, ProfileScratch


def holding(ranks: Sequence[Ledger], number: int, formats: KvFormats, serving: Serving) -> Holding:
    """The cache of one rank of a pipeline, as the engine lays it out."""
    form, rank = serving.runtime.cache, ranks[number]
    if isinstance(form, BlockRules):
        from llmcalc.engines.held_blocks import in_blocks  # noqa: PLC0415

        return in_blocks(form, ranks, number, formats, serving)
    if isinstance(form, CellCache):
        from llmcalc.engines.held_cells import in_cells  # noqa: PLC0415

        return in_cells(form, rank, formats, serving)
    if isinstance(form, PoolCache):
        from llmcalc.engines.held_pool import in_pool  # noqa: PLC0415

        return in_pool(form, rank, formats, serving)
    return Grown(
        profile=kv.profile(rank, formats), doubled_layers=form.doubled_layers,
        layers=max(1, len(rank.order)),
    )  # fmt: skip


def scratch_space(
    rank: Ledger, model: Ledger, formats: KvFormats, serving: Serving, devices: int
) -> Scratch:
    """The scratch space of a rank of a model on so many devices, as the engine asks for it."""
    form = serving.runtime.scratch
    if isinstance(form, LayerScratch):
        return widest_layer(form, rank, serving)
    if isinstance(form, ProfileScratch):
        return profile_run(form, rank, serving)
    from llmcalc.engines.held_cells import graph_run  # noqa: PLC0415

    return graph_run(form, model, formats, serving, devices)
