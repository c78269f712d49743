"""The time and cost half of `train`: a step's seconds, a run's hours, money and energy."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

from llmcalc.blueprint.operations import Ledger
from llmcalc.catalog import rates
from llmcalc.engines import goodput as failures
from llmcalc.engines import params
from llmcalc.engines.steptime.amounts import Amounts, amounts
from llmcalc.engines.steptime.machine import machine, reach_of
from llmcalc.engines.steptime.model_flops import seconds_at
from llmcalc.engines.steptime.pace import TrainStep, train_step
from llmcalc.engines.steptime.planned import run_of
from llmcalc.engines.steptime.published import published_mfu, whole_run
from llmcalc.engines.steptime.run import Run
from llmcalc.engines.steptime.totals import Totals, computed_tokens, gpu_hours, totals
from llmcalc.engines.train.plan import Plan
from llmcalc.engines.train.trained import count
from llmcalc.errors import ImpossibleError, UsageError
from llmcalc.formula import about, quietly
from llmcalc.spec.gpu import GpuSpec
from llmcalc.spec.utilisation import PublishedMfu, Utilisation, WholeRun

STORAGE_GB_S, STORAGE_MOST_GB_S = 2.0, 2000.0
"""To storage while a checkpoint is written: of each GPU about one NVMe drive (assumed); of all,
what Llama 3's storage sustains (arXiv:2407.21783, section 3.3.1)."""
WIDE = 16
"""Bits of the widest numbers that public runs multiply."""
Basis = Literal["given", "fitted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What somebody says of the run around a step; None is left to us, or unknown."""

    tokens: int | None = None
    samples: int | None = None
    epochs: float | None = None
    """Over the samples; None: 1."""
    packing: float | None = None
    """Share of each row that is no padding, where samples are given; None: 1."""
    mfu: float | None = None
    """Of model FLOPs, as a share; None: from the rates that public runs reach."""
    price: float | None = None
    """Of one GPU for an hour."""
    network_gb_s: float | None = None
    """Of each GPU's card to other nodes."""
    mtbf_hours: float | None = None
    """Of one GPU; None: failures.DEVICE_MTBF_HOURS."""
    checkpoint_seconds: float | None = None
    """That a checkpoint stops training for; None: all states at STORAGE_GB_S."""
    restart_seconds: float | None = None
    """None: failures.RESTART_SECONDS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainTime:
    """Time and cost; what needs a number of tokens is None without one."""

    flops_per_step: float
    """That the model needs, attention whole, as MFU is published."""
    hardware_flops_per_step: float
    """With what is computed again, counted alike."""
    step_seconds: float
    tokens_per_step: int
    tokens_per_second_per_gpu: float
    mfu: float
    hfu: float
    mfu_basis: Basis
    parts: dict[str, float]
    """Seconds of the step by what they go to; empty where the MFU was given."""
    error_p50: float | None
    """Of tokens a second on public rows of publishers that the fit had not seen; None where the MFU
    was given, and for devices or float32 products that no public row is of."""
    error_p90: float | None
    published: PublishedMfu | None
    """MFU of published runs on such devices of such a size; None where there are none."""
    goodput: float
    """Share of the time without failures, checkpoints and restarts."""
    checkpoint_interval: float
    failures_per_day: float
    totals: Totals | None
    whole_run_gpu_hours: float | None
    """With all that publishers' hours hold beside steady training: evaluation, restarts, trials.
    None for adapters, too: published hours are those of pre-training; and for devices that no
    public row is of."""


def train_time(ledger: Ledger, plan: Plan, gpu: GpuSpec, asked: Asked) -> TrainTime:
    """Time and cost of a plan on so many of a GPU.

    Raises UsageError for an amount said twice, ImpossibleError for one that cannot be, where the
    spec has no rate, or where the job fails faster than it saves.
    """
    _sensible(asked)
    every = rates.utilisation()
    run = run_of(plan, ledger)
    work = amounts(ledger, run)
    step = _step(work, run, plan, gpu, every, asked)
    seconds = step.seconds
    if asked.mfu is not None:
        seconds = seconds_at(flops=step.model_flops, gpus=step.gpus, peak=step.peak, mfu=asked.mfu)
    slower = step.seconds / seconds
    known = reach_of(every, gpu).n is not None and plan.recipe.product_bits <= WIDE
    seen = asked.mfu is None and known
    going = _goodput(_saved(ledger, plan), step.gpus, asked)
    whole = _totals(asked, run, step.gpus, seconds, going.share, gpu)
    return TrainTime(
        flops_per_step=step.model_flops, hardware_flops_per_step=step.hardware_flops,
        step_seconds=seconds, tokens_per_step=step.tokens,
        tokens_per_second_per_gpu=step.tokens_per_second_per_gpu * slower,
        mfu=step.mfu * slower, hfu=step.hfu * slower,
        mfu_basis="given" if asked.mfu else "fitted", parts={} if asked.mfu else _parts(step),
        error_p50=every.left_out_p50 if seen else None,
        error_p90=every.left_out_p90 if seen else None,
        published=published_mfu(every, gpu, params.count(ledger).active) if known else None,
        goodput=going.share, checkpoint_interval=going.interval,
        failures_per_day=going.failures_per_day, totals=whole,
        whole_run_gpu_hours=None if run.adapters
        else _whole_hours(whole, step.gpus, whole_run(every, gpu)),
    )  # fmt: skip


def _sensible(asked: Asked) -> None:
    """Raises UsageError where what is said contradicts itself, ImpossibleError for no amount."""
    if asked.tokens is not None and asked.samples is not None:
        raise UsageError("--tokens and --samples both say how much", hint="give one of them")
    if asked.samples is None and (asked.epochs, asked.packing) != (None, None):
        raise UsageError(
            "epochs and packing are those of samples", hint="add --samples, or count --tokens"
        )
    for name in ("packing", "mfu"):
        share = getattr(asked, name)
        if share is not None and not 0 < share <= 1:
            raise ImpossibleError(
                f"--{name} {share:g} is no share: above 0, at most 1", hint="write 40 % as 0.4"
            )
    for name in ("tokens", "samples", "epochs", "network_gb_s", "mtbf_hours", "checkpoint_seconds"):
        amount = getattr(asked, name)
        if amount is not None and not 0 < amount < inf:
            option = f"--{name.split('_')[0]}"
            raise ImpossibleError(
                f"{option} {amount:g} is not possible", hint=f"{option} is above 0"
            )
    for name in ("price", "restart_seconds"):
        amount = getattr(asked, name)
        if amount is not None and not 0 <= amount < inf:
            option = f"--{name.split('_')[0]}"
            raise ImpossibleError(
                f"{option} {amount:g} is not possible", hint=f"{option} is 0 or more"
            )


def _step(
    work: Amounts, run: Run, plan: Plan, gpu: GpuSpec, every: Utilisation, asked: Asked
) -> TrainStep:
    reach = reach_of(every, gpu)
    bits = plan.recipe.product_bits
    peaks = machine(gpu, reach, bits=bits, network_gb_s=asked.network_gb_s)
    return train_step(work, run, peaks, every, reach)


def _saved(ledger: Ledger, plan: Plan) -> int:
    """Numbers that a checkpoint holds: adapters alone where the rest is frozen."""
    with quietly():
        return count(ledger, plan) if plan.adapters else params.count(ledger).total


def _goodput(numbers: int, gpus: int, asked: Asked) -> failures.Goodput:
    stops = asked.checkpoint_seconds
    if stops is None:
        rate = min(gpus * STORAGE_GB_S, STORAGE_MOST_GB_S) * 1e9
        stops = failures.checkpoint_seconds(params=numbers, bytes=failures.STATE_BYTES, rate=rate)
    return failures.goodput(
        gpus, checkpoint_seconds=stops,
        restart_seconds=failures.RESTART_SECONDS if asked.restart_seconds is None
        else asked.restart_seconds,
        mtbf_hours=asked.mtbf_hours or failures.DEVICE_MTBF_HOURS,
    )  # fmt: skip


def _totals(
    asked: Asked, run: Run, gpus: int, seconds: float, share: float, gpu: GpuSpec
) -> Totals | None:
    tokens = asked.tokens
    if tokens is None and asked.samples:
        tokens = computed_tokens(
            samples=asked.samples, epochs=asked.epochs or 1.0, seq=run.seq,
            packing=asked.packing or 1.0,
        )  # fmt: skip
    if not tokens:
        return None
    if share <= 0:
        raise ImpossibleError("the job fails faster than it saves: it never ends")
    return totals(
        tokens=tokens, step_tokens=run.step_tokens, step_seconds=seconds, gpus=gpus,
        goodput=share, price=asked.price, watts=gpu.tdp_w,
    )  # fmt: skip


def _whole_hours(whole: Totals | None, gpus: int, known: WholeRun | None) -> float | None:
    """Hours of the steady rate over what share of published hours such a rate explains."""
    if whole is None or known is None:
        return None
    with about("steady_gpu_hours"):
        steady: float = gpu_hours(gpus=gpus, seconds=whole.steady_seconds)
    return max(whole.gpu_hours, steady / known.p50)


def _parts(step: TrainStep) -> dict[str, float]:
    return {
        "compute": step.compute, "bubble": step.bubble, "exchange": step.exchange,
        "gradients": step.gradients, "offload": step.offload, "optimizer": step.optimizer,
    }  # fmt: skip
