"""The engine that makes sequences, in the room that the other models leave."""

from __future__ import annotations

from dataclasses import dataclass, replace

from llmcalc.api import planners
from llmcalc.api.request import at_least_one
from llmcalc.api.setup import Setup
from llmcalc.blueprint.parallel import Parallel
from llmcalc.engines.budget import cache_room
from llmcalc.engines.rlhf.rollout import Rollout, loaded, within, without_room
from llmcalc.engines.serving import Serving
from llmcalc.engines.stage import Stage, fullest
from llmcalc.errors import ImpossibleError
from llmcalc.planner.fit import COMFORT
from llmcalc.spec.card import ModelCard


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """How sequences are made."""

    setup: Setup
    batch: int | None = None
    """The most sequences at once, on all engines together; None: all of an iteration."""
    gpus: int = 0
    """Of its own; 0: those that train."""
    sleeps: bool = True
    """Whether weights and cache leave while the others compute."""

    @property
    def tp(self) -> int:
        """Ranks of one engine."""
        return self.setup.parallel.tp if self.setup.parallel else 1

    @property
    def said(self) -> bool:
        """Whether its share of the memory is asked for, not what is left."""
        chosen = self.setup.settings
        shares = (
            chosen.gpu_memory_utilization,
            chosen.mem_fraction_static,
            chosen.free_gpu_memory_fraction,
        )
        return any(share is not None for share in shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one engine runs."""

    gpus: int
    """On which all engines run."""
    capacity: int | None
    others: int
    """Bytes that others hold there at the same time."""
    name: str = ""


def rollout(card: ModelCard, engine: Engine, batch: int, seq: int, place: Place) -> Rollout:
    """One engine with the cache that it gets; `batch` sequences on all of them together.

    Raises ImpossibleError where GPUs do not divide into engines.
    """
    at_least_one(rollout_batch=engine.batch, rollout_tp=engine.tp)
    if place.gpus % engine.tp:
        raise ImpossibleError(
            f"{place.gpus} GPUs are no multiple of --rollout-tp {engine.tp}",
            hint=f"use {-(-place.gpus // engine.tp) * engine.tp} GPUs",
        )
    batch = -(-batch // (place.gpus // engine.tp))
    stage, serving = _started(card, engine, batch, seq, place)
    if place.capacity is None:
        return without_room(stage, batch, seq)
    if engine.said or engine.gpus:
        return within(stage, cache_room(stage, serving, place.capacity, batch, seq), batch, seq)
    return _rest(stage, batch, seq, place.capacity, place.others)


def _started(
    card: ModelCard, engine: Engine, batch: int, seq: int, place: Place
) -> tuple[Stage, Serving]:
    planner, chosen = planners.planner(card), engine.setup
    settings = chosen.settings
    if settings.max_model_len is None and "max_model_len" in chosen.runtime.settings:
        settings = replace(settings, max_model_len=seq)
    ask = replace(chosen, settings=settings).ask(
        batch=batch, seq=seq, capacity=place.capacity or 0, gpu=place.name
    )
    stages = planner.stages(ask, chosen.parallel or Parallel())
    return fullest(stages, batch, seq), planner.serving(ask)


def _rest(stage: Stage, batch: int, seq: int, capacity: int, others: int) -> Rollout:
    """The engine with what the others leave: comfortably, or all of it if one sequence needs it."""
    spare = capacity - int(COMFORT * capacity)
    room = capacity - spare - others - loaded(stage, batch, seq)
    found = within(stage, room, batch, seq)
    if not holds_one(found):
        found = within(stage, room + spare, batch, seq)
    return found


def holds_one(found: Rollout) -> bool:
    """Whether the room holds at least one whole sequence."""
    if found.room is None:
        return True
    return found.room >= 0 and (found.concurrency is None or found.concurrency >= 1)
