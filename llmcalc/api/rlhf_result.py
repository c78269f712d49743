"""What `rlhf` answers: each role, each stretch of an iteration, and whether it fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from llmcalc.api.rlhf_time import RlhfTime
from llmcalc.planner.fit import Verdict
from llmcalc.spec.algorithm import RoleName, Stretch


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePerGpu:
    """Bytes of one role where it holds most; the parts sum to `peak`."""

    weights: int
    gradients: int
    master_weights: int
    optimizer: int
    activations: int
    logits: int
    buffers: int
    kv_cache: int
    """Of the engine: all the room it takes for it, states of recurrences included."""
    state: int
    runtime: int
    """What the engine takes for itself; that of the training process is in each stretch."""
    peak: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleRow:
    """One model of the run."""

    role: RoleName
    model: str
    params: int
    trained: bool
    computes: tuple[Stretch, ...]
    alive: tuple[Stretch, ...]
    """When it holds weights on a GPU; always, on GPUs of its own."""
    gpus: int
    per_gpu: RolePerGpu
    by_stretch: Mapping[str, int]
    """Bytes on a GPU that trains, at the moment of each stretch when all roles together hold most;
    of an engine on its own GPUs nothing is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StretchRow:
    """One stretch on the fullest GPU that trains; the roles and the process sum to the total."""

    stretch: Stretch
    roles: int
    process: int
    """Context, communication and allocator reserve of the process that trains."""
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RlhfResult:
    """The memory of one iteration; the fields about a GPU are null without one."""

    model: str
    algorithm: str
    method: Literal["full", "lora", "qlora", "dora"]
    precision: str
    optimizer: str
    shard: str
    prompt: int
    """Tokens of each prompt."""
    output: int
    """Tokens of each completion."""
    placement: Literal["colocated", "split", "training"]
    """The engine on the GPUs that train, on its own, or no engine at all."""
    gpus: int
    """That train."""
    rollout_gpus: int
    """Of the engine alone."""
    gpu: str | None
    roles: tuple[RoleRow, ...]
    totals: Mapping[str, int]
    """Bytes of each stretch on the fullest GPU."""
    stretches: tuple[StretchRow, ...]
    engine: int | None
    """Bytes on a GPU of the engine alone."""
    peak: int
    peak_phase: Stretch
    capacity: int | None
    free: int | None
    """Capacity less the peak; negative where it does not fit."""
    verdict: Verdict | None
    kv_tokens: int | None
    """Cached tokens that one engine's room holds; null without a GPU or an engine."""
    max_concurrency: float | None
    """Sequences that one engine's room holds at once."""
    gpu_memory_utilization: float | None
    """Share of a GPU that the engine takes: as asked for, or what the others leave."""
    iteration_seconds: float | None
    """This and all below is null without a GPU, or with one whose rates nobody states."""
    tokens_per_second: float | None
    """Prompts and completions, all GPUs."""
    total_seconds: float | None
    """Of all iterations asked for; of one without."""
    gpu_hours: float | None
    cost: float | None
    """Null without a price."""
    time: RlhfTime | None
    """All that is known of the time."""
    basis: Literal["modelled"]
    assumptions: Mapping[str, str | int | float]
