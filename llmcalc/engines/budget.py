"""Who gets the memory of a GPU: what an engine may use, and what of it is left for the cache."""

from __future__ import annotations

from llmcalc.engines.serving import Serving
from llmcalc.engines.stage import Stage


def usable(serving: Serving, capacity: int) -> int:
    """Bytes that the engine may use in all, of a device with `capacity` bytes."""
    if serving.runtime.budget.form == "share":
        return int(serving.share * capacity)
    return capacity


def cache_room(stage: Stage, serving: Serving, capacity: int, batch: int, seq: int) -> int:
    """Bytes for the cache while so much is served; negative where the rest needs more."""
    form, share = serving.runtime.budget.form, serving.share
    scratch = stage.scratch.bytes(batch, seq)
    if form == "share":
        return usable(serving, capacity) - (stage.fixed - stage.outside) - scratch
    if form == "static":
        taken = sum(part.bytes for part in stage.taken if part.group == "runtime")
        before = capacity - (taken - stage.outside)
        return int(share * before) - (stage.fixed - taken)
    return int(share * (capacity - stage.fixed - scratch))


def missing(stage: Stage, serving: Serving, capacity: int, batch: int, seq: int) -> int:
    """Bytes that the engine lacks for `batch` sequences of `seq` tokens; what is free, negated."""
    short = stage.held(batch, seq) - cache_room(stage, serving, capacity, batch, seq)
    return max(short, stage.total(batch, seq) - capacity)
