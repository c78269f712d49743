"""`memory`: what inference holds on each GPU, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from llmcalc.api import planners
from llmcalc.api.bands import banded, basis_shown, room_band
from llmcalc.api.emit import Start, filled, with_layers
from llmcalc.api.request import at_least_one, within_limit
from llmcalc.api.setup import Setup, shown
from llmcalc.blueprint.shard import Parallel
from llmcalc.engines import limits
from llmcalc.engines.budget import cache_room, usable
from llmcalc.engines.capacity import capacity
from llmcalc.engines.largest import bounded
from llmcalc.engines.limits import Limits, Shape
from llmcalc.engines.memory import Host
from llmcalc.engines.part import Basis, Part
from llmcalc.engines.serving import Serving
from llmcalc.engines.stage import Stage, fullest
from llmcalc.formula import is_recording, quietly
from llmcalc.report.model import Column, Report, Table
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec

GROUPS = ("weights", "kv_cache", "state", "activations", "runtime")


@dataclass(frozen=True, slots=True, kw_only=True)
class PerGpu:
    """Bytes on the fullest GPU, by group; the groups sum to the total."""

    weights: int
    kv_cache: int
    state: int
    activations: int
    runtime: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryResult:
    """Inference memory of one model; the fields about a GPU are null without one."""

    model: str
    per_gpu: PerGpu
    kv_bytes_per_token: int
    """What a token adds on one GPU while it is inside every attention window."""
    state_bytes_per_sequence: int
    parts: tuple[Part, ...]
    host: int
    """Bytes in the memory of the host: weights that no GPU holds, and the cache of their layers."""
    gpu: str | None
    gpus: int
    capacity: int | None
    """Bytes that the driver really offers on one GPU."""
    budget: int | None
    """Bytes that the runtime may use, or the KV cache budget that was given."""
    free: int | None
    """Budget left at this batch and context."""
    kv_room: int | None
    """Bytes that the cache of one GPU may take; negative where the rest already needs more."""
    kv_tokens: int | None
    """Cached tokens that the budget holds, over sequences of max_model_len; null without cache."""
    max_concurrency: float | None
    """Sequences of max_model_len that the budget holds at once."""
    max_model_len: int
    max_batch: int | None
    max_context: int | None
    """The longest sequences at this batch; null where nothing ends them, too."""
    basis: Basis
    error_p50: float | None
    """Median relative error of the room left for the cache, on public logs of this runtime."""
    error_p90: float | None
    assumptions: Mapping[str, str | int]
    command: str | None = None
    """The line that starts the engine so, with --emit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What the memory may hold: a GPU and how much of it, or a budget for the cache alone."""

    gpu: GpuSpec | None = None
    memory: int | None = None
    """Bytes of one device, where they are known better than the GPU's file has them."""
    kv_budget: int | None = None

    @property
    def bytes(self) -> int | None:
        """Bytes of one device, if any is named."""
        if self.memory is not None:
            return self.memory
        return capacity(self.gpu).bytes if self.gpu else None


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
        result = _result(card, chosen, batch, stage, host, shape, serving, parallel, place, found)
    planner.explain(ask, parallel, shape.batch, seq)
    if is_recording():
        _explain_room(stage, shape, serving, place)
    if emit:
        line = Start(card=card, planner=planner, ask=ask, parallel=parallel).line(emit)
        return _emitted(replace(result, command=line))
    return Report(
        command="memory",
        results=(result,),
        tables=_tables(result, batch, seq),
        assumptions=tuple(f"{name} {value}" for name, value in result.assumptions.items()),
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


def _result(
    card: ModelCard,
    chosen: Setup,
    batch: int,
    stage: Stage,
    host: Host,
    shape: Shape,
    serving: Serving,
    parallel: Parallel,
    room: Room,
    found: Limits | None,
) -> MemoryResult:
    parts = banded(stage.parts(shape.batch, shape.seq), chosen.runtime)
    known = room_band(chosen.runtime)
    sums = {group: sum(part.bytes for part in parts if part.group == group) for group in GROUPS}
    return MemoryResult(
        model=card.name,
        per_gpu=PerGpu(**sums, total=sum(sums.values())),
        kv_bytes_per_token=stage.cache.bytes_per_token,
        state_bytes_per_sequence=stage.cache.state_bytes,
        parts=parts,
        host=host.bytes(shape.batch, shape.seq),
        gpu=room.gpu.name if room.gpu else None,
        gpus=parallel.gpus,
        capacity=room.bytes,
        budget=found.budget if found else None,
        free=found.free if found else None,
        kv_room=found.kv_room if found else None,
        kv_tokens=found.kv_tokens if found else None,
        max_concurrency=found.max_concurrency if found else None,
        max_model_len=shape.longest,
        max_batch=found.max_batch if found else None,
        max_context=bounded(found.max_context) if found else None,
        basis="modelled",
        error_p50=known.p50 if known else None,
        error_p90=known.p90 if known else None,
        assumptions=_assumptions(chosen, batch, shape, serving, parallel, room),
    )


def _assumptions(
    chosen: Setup, batch: int, shape: Shape, serving: Serving, parallel: Parallel, room: Room
) -> dict[str, str | int]:
    named: dict[str, str | int] = {"batch": batch, "sequence": shape.seq}
    named |= chosen.assumptions | serving.assumptions
    if parallel.gpus > 1:
        named["split"] = shown(parallel)
    if room.gpu:
        named["capacity"] = capacity(room.gpu).basis
    return named


def _tables(result: MemoryResult, batch: int, seq: int) -> tuple[Table, ...]:
    rows = [(part.name, part.bytes, basis_shown(part)) for part in result.parts if part.bytes]
    where = f" on {result.gpus} × {result.gpu}" if result.gpu else ""
    parts = Table(
        title=f"{result.model}, {batch} × {seq:,} tokens{where}, each GPU",
        columns=(
            Column(key="part", title="part"),
            Column(key="bytes", title="size", unit="bytes"),
            Column(key="basis", title="basis"),
        ),
        rows=(*rows, ("total", result.per_gpu.total, result.basis)),
    )
    return (parts, *_room(result))


def _room(result: MemoryResult) -> tuple[Table, ...]:
    """How fast the cache grows, and how far the room goes where there is one."""
    sizes = [
        ("capacity", result.capacity),
        ("budget", result.budget),
        ("free", result.free),
        ("in host memory", result.host or None),
    ]
    counts: list[tuple[str, int | float | None]] = [
        ("bytes of cache a token", result.kv_bytes_per_token or None),
        ("bytes of state a sequence", result.state_bytes_per_sequence or None),
        ("tokens of cache", result.kv_tokens),
        (f"sequences of {result.max_model_len:,} at once", result.max_concurrency),
        ("largest batch at this sequence", result.max_batch),
        ("longest sequence at this batch", result.max_context),
    ]
    room = Table(
        columns=(Column(key="room", title="room"), Column(key="bytes", title="size", unit="bytes")),
        rows=tuple((name, size) for name, size in sizes if size is not None),
    )
    far = Table(
        columns=(
            Column(key="limit", title="limit"),
            Column(key="value", title="value", unit="rate"),
        ),
        rows=tuple((name, value) for name, value in counts if value is not None),
    )
    return (room, far) if room.rows else (far,)
