"""`memory`: what inference holds on each GPU, part by part."""

from __future__ import annotations

from dataclasses import replace

from llmcalc.api import planners
from llmcalc.api.emit import Start, filled, with_layers
from llmcalc.api.memory_result import MemoryResult, Room, result
from llmcalc.api.memory_tables import tables
from llmcalc.api.request import at_least_one, within_limit
from llmcalc.api.setup import Setup
from llmcalc.engines import limits
from llmcalc.engines.budget import cache_room, usable
from llmcalc.engines.capacity import capacity
from llmcalc.engines.limits import Limits, Shape
from llmcalc.engines.serving import Serving
from llmcalc.engines.stage import Stage, fullest
from llmcalc.formula import is_recording, quietly
from llmcalc.report.model import Report
from llmcalc.spec.card import ModelCard


def memory(
    card: ModelCard,
    chosen: Setup,
    *,
    batch: int = 1,
    seq: int = 4096,
    room: Room | None = None,
    emit: str | None = None,
    force: bool = False,
) -> Report:
    """Memory of `batch` sequences of `seq` tokens; weights and cache exact, the rest modelled.

    Raises ImpossibleError for sizes or splits that the model does not allow.
    """
    place = room or Room()
    if emit:
        replicas = chosen.parallel.replicas if chosen.parallel else 1
        served = filled(chosen.runtime, chosen.settings, batch=-(-batch // replicas), seq=seq)
        chosen = replace(chosen, settings=served)
    longest = chosen.settings.max_model_len
    at_least_one(batch=batch, seq=seq, kv_cache_memory_bytes=place.kv_budget)
    within_limit(card, seq, option="--seq", force=force)
    within_limit(card, longest or 1, option="--max-model-len", force=force)
    planner = planners.planner(card)
    ask = chosen.ask(
        batch=batch, seq=seq, capacity=place.bytes or 0, gpu=place.gpu.name if place.gpu else ""
    )
    with quietly():
        ask = with_layers(planner, ask) if emit else ask
        parallel = planner.split(ask)
        stages = planner.stages(ask, parallel)
        shape = Shape(
            batch=-(-batch // parallel.replicas),
            seq=seq,
            longest=longest or card.max_position_embeddings or seq,
            limit=card.max_position_embeddings,
        )
        serving = planner.serving(ask)
        stage = fullest(stages, shape.batch, seq)
        found = _limits(stages, shape, serving, parallel.replicas, place)
        host = planner.host(ask, parallel)
        answer = result(card, chosen, batch, stage, host, shape, serving, parallel, place, found)
    planner.explain(ask, parallel, shape.batch, seq)
    if is_recording():
        _explain_room(stage, shape, serving, place)
    if emit:
        line = Start(card=card, planner=planner, ask=ask, parallel=parallel).line(emit)
        return _emitted(replace(answer, command=line))
    return Report(
        command="memory",
        results=(answer,),
        tables=tables(answer, batch, seq),
        assumptions=tuple(f"{name} {value}" for name, value in answer.assumptions.items()),
    )


def _explain_room(stage: Stage, shape: Shape, serving: Serving, room: Room) -> None:
    """Record what the device offers, what the engine may use of it, and what the cache gets."""
    left = room.kv_budget
    if left is None and room.bytes is not None:
        if room.gpu and room.memory is None:
            capacity(room.gpu)
        usable(serving, room.bytes)
        left = cache_room(stage, serving, room.bytes, shape.batch, shape.longest)
    if left is not None:
        stage.explain_room(left, shape.longest)


def _emitted(result: MemoryResult) -> Report:
    """The command line alone, for a shell to take; whether it fits goes to stderr."""
    short = -(result.free or 0)
    warning = f"this does not fit: {short / 2**30:.2f} GiB are missing on each GPU"
    return Report(
        command="memory", results=(result,), tables=(), text=f"{result.command}\n",
        warnings=(warning,) if short > 0 else (),
    )  # fmt: skip


def _limits(
    stages: tuple[Stage, ...], shape: Shape, serving: Serving, replicas: int, room: Room
) -> Limits | None:
    """How far the room goes, if there is any."""
    if room.kv_budget is not None:
        found = [limits.within_cache(stage, shape, room.kv_budget) for stage in stages]
    elif room.bytes is not None:
        found = [limits.within_memory(stage, shape, serving, room.bytes) for stage in stages]
    else:
        return None
    return limits.least(found, replicas)
