"""`train`: what one training step holds on each GPU and when, how long it takes, what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from llmcalc.api import train_tables as tables
from llmcalc.api.bands import step_band
from llmcalc.api.plans import lowered
from llmcalc.api.request import within_limit
from llmcalc.api.targets import placed, torn
from llmcalc.api.train_assumptions import assumed
from llmcalc.api.train_held import held
from llmcalc.api.train_rules import cut_whole, runs_on
from llmcalc.api.train_time import Asked, TrainTime, train_time
from llmcalc.blueprint.operations import Ledger
from llmcalc.engines import params as counting
from llmcalc.engines.capacity import capacity
from llmcalc.engines.train.passes import Moment, Phase
from llmcalc.engines.train.plan import Plan
from llmcalc.engines.train.trained import count
from llmcalc.engines.training import Sharding
from llmcalc.errors import ImpossibleError, UsageError
from llmcalc.formula import quietly
from llmcalc.planner.fit import Verdict
from llmcalc.planner.training import Needs, needed_by
from llmcalc.planner.worked import explain
from llmcalc.report.model import Report
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec

NOTHING = Asked()
"""Of the run around a step, what is not said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainPerGpu:
    """Bytes on the fullest GPU at its peak; the parts up to `runtime` sum to `peak`."""

    weights: int
    gradients: int
    master_weights: int
    optimizer: int
    activations: int
    logits: int
    buffers: int
    runtime: int
    """Context, communication and what the allocator holds in reserve."""
    peak: int
    static: int
    """Weights, all gradients, masters and moments: what no batch changes."""
    allocated: int
    """The peak of live tensors, as torch.cuda.max_memory_allocated counts."""
    reserved: int
    """With the allocator's reserve, as torch.cuda.max_memory_reserved counts."""
    host: int
    """Kept in the memory of the host for this GPU; a node's is that of all its GPUs."""
    host_buffers: int
    """Of that, pinned buffers between it and NVMe."""
    nvme: int
    """Kept on NVMe for this GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The memory of the fullest GPU at one point of a step."""

    phase: Phase
    at: str
    weights: int
    gradients: int
    master_weights: int
    optimizer: int
    activations: int
    logits: int
    buffers: int
    total: int
    """Of live tensors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainResult:
    """The memory of one training step."""

    model: str
    params: int
    trainable: int
    """Numbers with gradients, of the whole model."""
    method: Literal["full", "lora", "qlora", "dora"]
    precision: str
    optimizer: str
    shard: Sharding
    gpus: int
    gpu: str | None
    per_gpu: TrainPerGpu
    peak_phase: Phase
    stage: int
    """The pipeline stage that needs most, the first being 0."""
    timeline: tuple[Point, ...]
    bytes_per_parameter: int
    """Of one trained parameter under AdamW, before anything is dealt out."""
    micro_batches: int
    capacity: int | None
    free: int | None
    """Capacity less the peak; negative where it does not fit."""
    verdict: Verdict | None
    flops_per_step: float | None
    """That the model needs, attention whole, as MFU is published; this and all that takes time is
    None without a GPU, or with one whose rates nobody states."""
    step_seconds: float | None
    tokens_per_second_per_gpu: float | None
    mfu: float | None
    total_seconds: float | None
    """Of the whole run, with failures; None without an amount to train on."""
    gpu_hours: float | None
    cost: float | None
    """None without a price."""
    time: TrainTime | None
    """All that is known of the time."""
    basis: Literal["modelled"]
    error_p50: float | None
    """Median relative error of peaks like this one on public measurements, if there are any."""
    error_p90: float | None
    """Nine in ten of them are within this."""
    error_of: str | None
    """Which public measurements: those of a framework and method, or of all frameworks."""
    error_n: int | None
    """How many they are."""
    assumptions: Mapping[str, str | int | float]


def train(
    card: ModelCard,
    plan: Plan,
    *,
    gpu: GpuSpec | None = None,
    asked: Asked = NOTHING,
    chart: bool = False,
    force: bool = False,
) -> Report:
    """The memory of one step of a plan on the GPU that holds most; the time and cost on a GPU.

    `force` goes over the model's context limit. Raises ImpossibleError for a split that the model
    does not allow, UsageError where what is asked of the run makes no sense.
    """
    within_limit(card, plan.seq, option="--seq", force=force)
    runs_on(gpu, plan.recipe)
    if gpu is None and asked != NOTHING:
        raise UsageError("a run takes time on a GPU", hint="name it: --gpu h100")
    ledger = lowered(card, plan.framework)
    cut_whole(ledger, plan)
    plan = placed(plan, card, ledger)
    with quietly():
        total, trainable = counting.count(ledger).total, count(ledger, plan)
    needs = needed_by(ledger, plan)
    explain(ledger, plan, needs)
    line, per_gpu = needs.line, _per_gpu(needs)
    offered = capacity(gpu).bytes if gpu else None
    band = step_band(plan, ledger)
    timed, untimed = _timed(ledger, plan, gpu, asked)
    totals = timed.totals if timed else None
    result = TrainResult(
        model=card.name, params=total, trainable=trainable, method=plan.method,
        precision=plan.recipe.name, optimizer=plan.optimizer.name, shard=plan.sharding,
        gpus=plan.parallel.gpus, gpu=gpu.name if gpu else None, per_gpu=per_gpu,
        peak_phase=line.peak.phase, stage=line.stage,
        timeline=tuple(_point(one) for one in line.moments),
        bytes_per_parameter=_bytes_per_parameter(plan), micro_batches=plan.micro_batches,
        capacity=offered, free=offered - per_gpu.peak if offered else None,
        verdict=needs.verdict(offered) if offered else None,
        flops_per_step=timed.flops_per_step if timed else None,
        step_seconds=timed.step_seconds if timed else None,
        tokens_per_second_per_gpu=timed.tokens_per_second_per_gpu if timed else None,
        mfu=timed.mfu if timed else None, total_seconds=totals.seconds if totals else None,
        gpu_hours=totals.gpu_hours if totals else None,
        cost=totals.cost if totals else None, time=timed, basis="modelled",
        error_p50=band.p50 if band else None,
        error_p90=band.p90 if band else None,
        error_of=band.runtime if band else None, error_n=band.n if band else None,
        assumptions=held(ledger, plan, gpu) | torn(plan, card, ledger) | untimed,
    )  # fmt: skip
    return Report(
        command="train", results=(result,), tables=tables.tables(result, chart=chart),
        assumptions=tuple(f"{name}: {value}" for name, value in result.assumptions.items()),
    )  # fmt: skip


def _timed(
    ledger: Ledger, plan: Plan, gpu: GpuSpec | None, asked: Asked
) -> tuple[TrainTime | None, dict[str, str]]:
    """The time of a plan, or why there is none where nobody asked for it in particular."""
    if gpu is None:
        return None, {}
    try:
        found = train_time(ledger, plan, gpu, asked)
    except ImpossibleError as error:
        if asked != NOTHING:
            raise
        return None, {"no time": str(error)}
    return found, assumed(plan, gpu, asked, found)


def _per_gpu(needs: Needs) -> TrainPerGpu:
    away = needs.line.lasting.away
    return TrainPerGpu(
        **needs.parts, runtime=needs.taken.total, peak=needs.peak, static=needs.static,
        allocated=needs.live, reserved=needs.live + needs.taken.reserve,
        host=away.host, host_buffers=away.buffers, nvme=away.nvme,
    )  # fmt: skip


def _point(one: Moment) -> Point:
    return Point(**asdict(one), total=one.total)


def _bytes_per_parameter(plan: Plan) -> int:
    one = plan.recipe
    return one.weights + one.gradients + one.master_weights + one.optimizer
