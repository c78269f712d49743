"""Who gets the memory of a GPU: what an engine may use, and what of it is left for the cache."""

from __future__ import annotations

from llmcalc.engines.serving import Serving
from llmcalc.engines.stage import Stage
from llmcalc.formula import formula, is_recording, quietly


def usable(serving: Serving, capacity: int) -> int:
    """Bytes that the engine may use in all, of a device with `capacity` bytes."""
    if serving.runtime.budget.form != "share":
        return capacity
    budget: int = budget_bytes(share=serving.share, capacity=capacity)
    return budget


@formula(
    "int(share · capacity)",
    source="the share of the device's memory that the engine may use",
    unit="bytes",
)
def budget_bytes(*, share: float, capacity: int) -> int:
    """Bytes that weights, scratch space and cache may take together."""
    return share_of(share, capacity)


@formula(
    "int(share · (total - taken)) - loaded - scratch",
    source="what the engine's budget leaves for the cache: a share of all memory, less all else",
    unit="bytes",
    basis="modelled",
)
def room_of_share(*, share: float, total: int, taken: int, loaded: int, scratch: int) -> int:
    """Bytes for the cache out of a share of what `taken` leaves."""
    return share_of(share, total - taken) - loaded - scratch


@formula(
    "int(share · (total - taken - loaded - scratch))",
    source="a share of what loading and a dummy run leave is for the cache",
    unit="bytes",
    basis="modelled",
)
def room_of_rest(*, share: float, total: int, taken: int, loaded: int, scratch: int) -> int:
    """Bytes for the cache out of what is left at last."""
    return share_of(share, total - taken - loaded - scratch)


def share_of(share: float, size: int) -> int:
    """A share of some bytes, rounded to zero, of the share as people write it."""
    part = abs(size) * round(1_000_000 * share) // 1_000_000
    return part if size >= 0 else -part


def cache_room(stage: Stage, serving: Serving, capacity: int, batch: int, seq: int) -> int:
    """Bytes for the cache while so much is served; negative where the rest needs more."""
    form, share = serving.runtime.budget.form, serving.share
    scratch = _scratch(stage, batch, seq)
    room: int
    if form == "share":
        loaded = stage.fixed - stage.outside
        room = room_of_share(share=share, total=capacity, taken=0, loaded=loaded, scratch=scratch)
    elif form == "static":
        taken = sum(part.bytes for part in stage.taken if part.group == "runtime")
        room = room_of_share(
            share=share, total=capacity, taken=taken - stage.outside,
            loaded=stage.fixed - taken, scratch=0,
        )  # fmt: skip
    else:
        room = room_of_rest(
            share=share, total=capacity, taken=0, loaded=stage.fixed, scratch=scratch
        )
    return room


def _scratch(stage: Stage, batch: int, seq: int) -> int:
    """Scratch space, whose own steps stand where its parts are explained."""
    if not is_recording():
        return stage.scratch.bytes(batch, seq)
    with quietly():
        return stage.scratch.bytes(batch, seq)


def missing(stage: Stage, serving: Serving, capacity: int, batch: int, seq: int) -> int:
    """Bytes that the engine lacks for `batch` sequences of `seq` tokens; what is free, negated."""
    short = stage.held(batch, seq) - cache_room(stage, serving, capacity, batch, seq)
    return max(short, stage.total(batch, seq) - capacity)
