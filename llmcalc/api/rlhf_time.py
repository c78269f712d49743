"""The time half of `rlhf`: seconds of an iteration by stretch, a run's hours and its cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from llmcalc.api.rlhf_models import model, own_plan
from llmcalc.api.rlhf_run import Run
from llmcalc.api.served import Load, serve
from llmcalc.api.train_time import Asked, train_time
from llmcalc.catalog import rates
from llmcalc.engines.device import link
from llmcalc.engines.rlhf import handover, iteration
from llmcalc.engines.rlhf.rollout import Rollout
from llmcalc.engines.rlhf.scoring import forward_seconds
from llmcalc.engines.steptime import totals
from llmcalc.engines.steptime.machine import machine, reach_of
from llmcalc.engines.steptime.planned import run_of
from llmcalc.errors import ImpossibleError
from llmcalc.formula import quietly, record_sum
from llmcalc.spec.algorithm import Role, Stretch
from llmcalc.spec.gpu import GpuSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class RlhfTime:
    """Seconds of an iteration, and what so many of them come to."""

    sequences: int
    """Of one iteration; of pairs each counts."""
    prompts: int
    updates: int
    epochs: int
    rollout_batch: int | None
    """Sequences that one engine makes at once; null without an engine."""
    rollout_waves: int | None
    """Times that it does, one after another."""
    seconds: Mapping[Stretch, float]
    iteration_seconds: float
    tokens_per_second: float
    """Prompts and completions of all sequences, over the whole iteration, all GPUs."""
    output_tokens_per_second: float | None
    """Completions alone; null where none are made."""
    iterations: int
    total_seconds: float
    gpu_hours: float
    cost: float | None
    """None without a price."""


def rlhf_time(run: Run, gpu: GpuSpec, engine: Rollout | None) -> RlhfTime:
    """One iteration on so many of a GPU.

    Raises ImpossibleError where the spec has no rate, or the engine holds not one sequence.
    """
    pace = run.pace
    sequences = run.sequences
    group = min(pace.group or run.algorithm.group, sequences)
    rolled = _rollout(run, gpu, engine, sequences, group) if engine else None
    seconds: dict[Stretch, float] = {
        "rollout": rolled[2] if rolled else 0.0,
        "reward": _scoring(run, gpu, "reward", sequences),
        "train": _training(run, gpu, sequences),
        "sync": _sync(run, gpu, engine) if engine else 0.0,
    }
    seconds = {name: seconds[name] for name in run.algorithm.stretches}
    whole = sum(seconds.values())
    record_sum("iteration_seconds", seconds, "seconds", "modelled")
    many = pace.iterations or 1
    hours: float = totals.gpu_hours(gpus=run.gpus, seconds=many * whole)
    made = sequences * run.output_tokens if run.algorithm.generates else None
    return RlhfTime(
        sequences=sequences, prompts=-(-sequences // (group * run.algorithm.together)),
        updates=pace.updates, epochs=pace.epochs,
        rollout_batch=rolled[0] if rolled else None,
        rollout_waves=rolled[1] if rolled else None, seconds=seconds, iteration_seconds=whole,
        tokens_per_second=sequences * run.plan.seq / whole,
        output_tokens_per_second=made / whole if made else None, iterations=many,
        total_seconds=many * whole, gpu_hours=hours,
        cost=None if pace.price is None else totals.cost(hours=hours, price=pace.price),
    )  # fmt: skip


def _rollout(
    run: Run, gpu: GpuSpec, engine: Rollout, sequences: int, group: int
) -> tuple[int, int, float]:
    """Sequences of one engine at once, how often, and the seconds of all."""
    engines = (run.engine.gpus or run.plan.parallel.gpus) // run.engine.tp
    each = -(-sequences // engines)
    load = Load(batch=each, prompt=run.prompt_tokens, output=run.output_tokens)
    with quietly():
        served, _ = serve(run.cast.policy, run.engine.setup, gpu, load)
    served = replace(served, device=served.full) if served.full else served
    limits = [each, -(-run.rolled_at_once // engines), served.serving.settings.max_num_seqs]
    if engine.concurrency is not None:
        limits.append(int(engine.concurrency))
    at_once = min(limit for limit in limits if limit is not None)
    if at_once < 1:
        raise ImpossibleError("the engine's cache holds not one sequence")
    waves = -(-each // at_once)
    batch = -(-each // waves)
    with quietly():
        prefill = served.prefill(-(-batch // group), run.prompt_tokens).seconds
        token = served.decode(batch, load.middle).seconds
    seconds = iteration.rollout_seconds(
        waves=waves, prefill=prefill, output=run.output_tokens, token=token
    )
    return batch, waves, seconds


def _scoring(run: Run, gpu: GpuSpec, stretch: Stretch, sequences: int) -> float:
    """A forward pass of every model that computes then, one after another."""
    terms = {
        str(role.name): _forward(role, run, gpu, sequences)
        for role in run.cast.roles(run.algorithm)
        if stretch in role.computes and (stretch != "train" or not role.trained)
    }
    if stretch == "reward":
        record_sum("reward_seconds", terms, "seconds", "modelled")
    return sum(terms.values())


def _forward(role: Role, run: Run, gpu: GpuSpec, sequences: int) -> float:
    plan, every = run.plan, rates.utilisation()
    ranks = plan.parallel.dp * plan.micro_batch
    ledger = model(role, run.cast, plan).ledger
    scored = run_of(replace(plan, adapters=None), ledger)  # merged, or those of another model
    way = replace(scored, micro_batches=-(-sequences // ranks))
    reach = reach_of(every, gpu)
    peaks = machine(gpu, reach, network_gb_s=run.pace.network_gb_s)
    return forward_seconds(ledger, way, peaks, every, reach)


def _training(run: Run, gpu: GpuSpec, sequences: int) -> float:
    """Every update of every model that learns."""
    asked = Asked(network_gb_s=run.pace.network_gb_s)
    with quietly():
        steps = {
            role.name: train_time(one.ledger, own_plan(one, run.plan), gpu, asked).step_seconds
            for role in run.cast.roles(run.algorithm)
            if role.trained
            for one in (model(role, run.cast, run.plan),)
        }
        reference = _scoring(run, gpu, "train", sequences)
    critic = steps.pop("critic", 0.0)
    found: float = iteration.train_seconds(
        epochs=run.pace.epochs, updates=run.pace.updates, policy=sum(steps.values()),
        critic=critic, reference=reference,
    )  # fmt: skip
    return found


def _sync(run: Run, gpu: GpuSpec, engine: Rollout) -> float:
    """New weights to the engine; old ones that wait on the host come back first."""
    plan = run.plan
    policy = next(role for role in run.algorithm.models if role.name == "policy")
    whole = handover.sent(model(policy, run.cast, plan).ledger)
    peaks = machine(gpu, reach_of(rates.utilisation(), gpu), network_gb_s=run.pace.network_gb_s)
    if run.engine.gpus:
        rate = peaks.link if run.gpus <= peaks.node else handover.TRANSFER
        return float(handover.far_seconds(bytes=whole, rate=rate))
    ranks = plan.parallel.gpus if plan.sharded_weights or plan.parallel.dp == 1 else 1
    within = ranks <= peaks.node
    kept = run.engine.sleeps and plan.framework.rlhf.sleep_level == 1
    back = engine.share.weights if kept else 0
    if run.idle_on_host:
        back += -(-whole // plan.parallel.gpus)
    found: float = handover.near_seconds(
        bytes=whole, ranks=ranks,
        link=peaks.link if within else min(peaks.link, peaks.node * peaks.network),
        copied=engine.share.weights, bandwidth=peaks.bandwidth, from_host=back,
        host=link(replace(gpu, link=None), 1)[0],
    )  # fmt: skip
    return found
