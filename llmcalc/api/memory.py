"""`memory`: what inference holds on each GPU, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llmcalc.api.request import at_least_one, within_limit
from llmcalc.api.setup import Setup, shown
from llmcalc.blueprint import lower
from llmcalc.blueprint.shard import Parallel
from llmcalc.engines import limits
from llmcalc.engines import memory as engine
from llmcalc.engines.capacity import capacity
from llmcalc.engines.limits import Limits, Shape
from llmcalc.engines.memory import Basis, Part, Stage, bounded
from llmcalc.errors import ImpossibleError
from llmcalc.formula import quietly
from llmcalc.planner.fit import Planner
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
    gpu: str | None
    gpus: int
    capacity: int | None
    """Bytes that the driver really offers on one GPU."""
    budget: int | None
    """Bytes that the runtime may use, or the KV cache budget that was given."""
    free: int | None
    """Budget left at this batch and context."""
    kv_tokens: int | None
    """Cached tokens that the budget holds, over sequences of max_model_len; null without cache."""
    max_concurrency: float | None
    """Sequences of max_model_len that the budget holds at once."""
    max_model_len: int
    max_batch: int | None
    max_context: int | None
    """The longest sequences at this batch; null where nothing ends them, too."""
    basis: Basis
    assumptions: Mapping[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What the memory may hold: a GPU and how much of it, or a budget for the cache alone."""

    gpu: GpuSpec | None = None
    utilization: float = 1.0
    """Share of the GPU's memory that the runtime may use, above 0 and up to 1."""
    kv_budget: int | None = None


def memory(
    card: ModelCard,
    chosen: Setup,
    *,
    batch: int = 1,
    seq: int = 4096,
    room: Room | None = None,
    max_model_len: int | None = None,
    force: bool = False,
) -> Report:
    """Memory of `batch` sequences of `seq` tokens; weights and cache exact, the rest modelled.

    Raises ImpossibleError for sizes or splits that the model does not allow.
    """
    place = room or Room()
    at_least_one(
        batch=batch,
        seq=seq,
        max_model_len=max_model_len,
        kv_cache_memory_bytes=place.kv_budget,
    )
    within_limit(card, seq, option="--seq", force=force)
    within_limit(card, max_model_len or 1, option="--max-model-len", force=force)
    if not 0 < place.utilization <= 1:
        raise ImpossibleError(
            f"--gpu-memory-utilization {place.utilization:g} is not possible",
            hint="a share of the memory, above 0 and up to 1",
        )
    offered = capacity(place.gpu).bytes if place.gpu else 0
    planner = Planner(lower(card), None)
    ask = chosen.ask(batch=batch, seq=seq, capacity=offered)
    with quietly():
        parallel = planner.split(ask)
        stages = planner.stages(ask, parallel)
        shape = Shape(
            batch=-(-batch // parallel.dp),
            seq=seq,
            longest=max_model_len or card.max_position_embeddings or seq,
            limit=card.max_position_embeddings,
        )
        stage = engine.fullest(stages, shape.batch, seq)
        found = _limits(stages, shape, parallel.dp, place)
        result = _result(card, chosen, batch, stage, shape, parallel, place, found)
    planner.explain(ask, parallel, shape.batch, seq)
    return Report(
        command="memory",
        results=(result,),
        tables=_tables(result, batch, seq),
        assumptions=tuple(f"{name} {value}" for name, value in result.assumptions.items()),
    )


def _limits(stages: tuple[Stage, ...], shape: Shape, replicas: int, room: Room) -> Limits | None:
    """How far the room goes, if there is any."""
    if room.kv_budget is not None:
        found = [limits.within_cache(stage, shape, room.kv_budget) for stage in stages]
    elif room.gpu is not None:
        budget = int(room.utilization * capacity(room.gpu).bytes)
        found = [limits.within_memory(stage, shape, budget) for stage in stages]
    else:
        return None
    return limits.least(found, replicas)


def _result(
    card: ModelCard,
    chosen: Setup,
    batch: int,
    stage: Stage,
    shape: Shape,
    parallel: Parallel,
    room: Room,
    found: Limits | None,
) -> MemoryResult:
    parts = stage.parts(shape.batch, shape.seq)
    sums = {group: sum(part.bytes for part in parts if part.group == group) for group in GROUPS}
    return MemoryResult(
        model=card.name,
        per_gpu=PerGpu(**sums, total=sum(sums.values())),
        kv_bytes_per_token=stage.cache.bytes_per_token,
        state_bytes_per_sequence=stage.cache.state_bytes,
        parts=parts,
        gpu=room.gpu.name if room.gpu else None,
        gpus=parallel.gpus,
        capacity=capacity(room.gpu).bytes if room.gpu else None,
        budget=found.budget if found else None,
        free=found.free if found else None,
        kv_tokens=found.kv_tokens if found else None,
        max_concurrency=found.max_concurrency if found else None,
        max_model_len=shape.longest,
        max_batch=found.max_batch if found else None,
        max_context=bounded(found.max_context) if found else None,
        basis="modelled",
        assumptions=_assumptions(chosen, batch, shape, parallel, room),
    )


def _assumptions(
    chosen: Setup, batch: int, shape: Shape, parallel: Parallel, room: Room
) -> dict[str, str | int]:
    named: dict[str, str | int] = {"batch": batch, "sequence": shape.seq}
    named |= chosen.assumptions
    if parallel.gpus > 1:
        named["split"] = shown(parallel)
    if room.gpu:
        named["capacity"] = capacity(room.gpu).basis
        named["utilisation"] = f"{room.utilization:g}"
    return named


def _tables(result: MemoryResult, batch: int, seq: int) -> tuple[Table, ...]:
    rows = [(part.name, part.bytes, part.basis) for part in result.parts if part.bytes]
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
    sizes = [("capacity", result.capacity), ("budget", result.budget), ("free", result.free)]
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
