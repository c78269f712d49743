"""What `memory` answers, and the room that it answers for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llmcalc.api.bands import banded, room_band
from llmcalc.api.setup import Setup, shown
from llmcalc.blueprint.shard import Parallel
from llmcalc.engines.capacity import capacity
from llmcalc.engines.largest import bounded
from llmcalc.engines.limits import Limits, Shape
from llmcalc.engines.memory import Host
from llmcalc.engines.part import Basis, Part
from llmcalc.engines.serving import Serving
from llmcalc.engines.stage import Stage
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


def result(
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
    """The parts of the fullest stage, and how far the room goes."""
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
