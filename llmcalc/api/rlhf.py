"""`rlhf`: which models one iteration of preference training holds on each GPU, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from llmcalc.api import rlhf_tables as tables
from llmcalc.api.rlhf_assumptions import assumptions
from llmcalc.api.rlhf_engine import Engine, Place, holds_one, rollout
from llmcalc.api.rlhf_models import Cast, held, model
from llmcalc.api.rlhf_result import RlhfResult, RolePerGpu, RoleRow, StretchRow
from llmcalc.api.rlhf_run import Pace, Run, checked
from llmcalc.api.rlhf_time import RlhfTime, rlhf_time
from llmcalc.api.train_rules import runs_on
from llmcalc.engines import params as counting
from llmcalc.engines.capacity import capacity
from llmcalc.engines.rlhf.member import Member
from llmcalc.engines.rlhf.rollout import Rollout
from llmcalc.engines.rlhf.share import Share
from llmcalc.engines.rlhf.stretches import Fullest, asleep, beside, fullest, waking
from llmcalc.errors import ImpossibleError, InvalidFileError, UsageError
from llmcalc.formula import quietly, record_sum
from llmcalc.planner.fit import Verdict, judged
from llmcalc.report.model import Report
from llmcalc.spec.algorithm import Role, RoleName, Stretch
from llmcalc.spec.gpu import GpuSpec

__all__ = ["Cast", "Engine", "Pace", "RlhfResult", "Run", "rlhf"]


def rlhf(run: Run, *, gpu: GpuSpec | None = None) -> Report:
    """The memory of one iteration, role by role and stretch by stretch, on the fullest GPU.

    Raises ImpossibleError for splits that a model does not allow, UsageError for an engine that
    the algorithm does not need.
    """
    run = checked(run)
    runs_on(gpu, run.plan.recipe)
    offered = capacity(gpu).bytes if gpu else None
    with quietly():
        parts = _members(run)
        rows = _stretches(run, parts)
        engine = _engine(run, rows, offered, gpu)
        shared = engine if engine and not run.engine.gpus else None
        rows = {name: [_with(run, one, shared) for one in each] for name, each in rows.items()}
    worst = {name: max(each, key=lambda one: one.total) for name, each in rows.items()}
    for one in worst.values():
        _explain(one)
    time, untimed = _timed(run, gpu, engine)
    result = _result(run, parts, worst, engine, offered, gpu, time, untimed)
    return Report(
        command="rlhf", results=(result,), tables=tables.tables(result),
        assumptions=tuple(f"{name}: {value}" for name, value in result.assumptions.items()),
    )  # fmt: skip


def _timed(
    run: Run, gpu: GpuSpec | None, engine: Rollout | None
) -> tuple[RlhfTime | None, dict[str, str]]:
    """The time of an iteration, or why there is none where nobody asked for it in particular."""
    pace = run.pace
    asked = any(one is not None for one in (pace.iterations, pace.price, pace.network_gb_s))
    if gpu is None:
        if asked:
            raise UsageError("a run takes time on a GPU", hint="name it: --gpu h100")
        return None, {}
    try:
        return rlhf_time(run, gpu, engine), {}
    except (ImpossibleError, InvalidFileError) as error:
        if asked:
            raise
        return None, {"no time": str(error)}


def _members(run: Run) -> dict[RoleName, tuple[Member, ...]]:
    return {
        role.name: held(model(role, run.cast, run.plan), run.plan, away=run.idle_on_host)
        for role in run.cast.roles(run.algorithm)
    }


def _stretches(run: Run, parts: dict[RoleName, tuple[Member, ...]]) -> dict[Stretch, list[Fullest]]:
    """Each stretch on the GPU of each pipeline stage, without the engine."""
    by_stage = list(zip(*parts.values(), strict=True))
    return {
        stretch: [fullest(found, stretch, run.plan) for found in by_stage]
        for stretch in run.algorithm.stretches
    }


def _engine(
    run: Run, rows: dict[Stretch, list[Fullest]], offered: int | None, gpu: GpuSpec | None
) -> Rollout | None:
    if not run.algorithm.generates:
        return None
    awake = [name for name in rows if name == "rollout" or not run.engine.sleeps]
    others = max(one.total for name in awake for one in rows[name])
    place = Place(
        gpus=run.engine.gpus or run.plan.parallel.gpus, capacity=offered,
        others=0 if run.engine.gpus else others, name=gpu.name if gpu else "",
    )  # fmt: skip
    return rollout(run.cast.policy, run.engine, run.rolled_at_once, run.plan.seq, place)


def _with(run: Run, one: Fullest, engine: Rollout | None) -> Fullest:
    """A stretch with the engine on the same GPU, awake or asleep."""
    if engine is None:
        return one
    if one.stretch == "rollout" or not run.engine.sleeps:
        return beside(one, engine.share)
    return beside(one, (waking if one.stretch == "sync" else asleep)(engine.share))


def _explain(one: Fullest) -> None:
    """Record what one stretch adds up."""
    terms = {str(name): share.total for name, share in one.shares.items()}
    record_sum(f"{one.stretch}_total", terms | {"process": one.process}, "bytes", "modelled")


def _result(
    run: Run,
    parts: dict[RoleName, tuple[Member, ...]],
    worst: dict[Stretch, Fullest],
    engine: Rollout | None,
    offered: int | None,
    gpu: GpuSpec | None,
    time: RlhfTime | None,
    untimed: dict[str, str],
) -> RlhfResult:
    alone = engine if run.engine.gpus else None
    totals = {str(name): one.total for name, one in worst.items()}
    if alone:
        received = max(one.handing.buffers for one in parts["policy"])
        totals["rollout"] = max(totals["rollout"], alone.share.total)
        totals["sync"] = max(totals["sync"], alone.share.total + received)
    phase = max(worst, key=lambda name: totals[name])
    peak = totals[phase]
    return RlhfResult(
        model=run.cast.policy.name, algorithm=run.algorithm.name, method=run.plan.method,
        precision=run.plan.recipe.name, optimizer=run.plan.optimizer.name,
        shard=run.plan.sharding,
        prompt=run.prompt_tokens, output=run.output_tokens,
        placement="split" if alone else "colocated" if engine else "training",
        gpus=run.plan.parallel.gpus, rollout_gpus=run.engine.gpus,
        gpu=gpu.name if gpu else None, roles=tuple(_rows(run, parts, worst, engine)),
        totals=totals, stretches=tuple(_stretch(one) for one in worst.values()),
        engine=alone.share.total if alone else None, peak=peak, peak_phase=phase,
        capacity=offered, free=offered - peak if offered else None,
        verdict=_verdict([one.total for one in worst.values()], engine, alone, offered),
        kv_tokens=engine.tokens if engine else None,
        max_concurrency=engine.concurrency if engine else None,
        gpu_memory_utilization=round(engine.share.total / offered, 3)
        if engine and offered else None,
        iteration_seconds=time.iteration_seconds if time else None,
        tokens_per_second=time.tokens_per_second if time else None,
        total_seconds=time.total_seconds if time else None,
        gpu_hours=time.gpu_hours if time else None, cost=time.cost if time else None, time=time,
        basis="modelled", assumptions=assumptions(run, engine, gpu) | untimed,
    )  # fmt: skip


def _verdict(
    totals: Sequence[int], engine: Rollout | None, alone: Rollout | None, offered: int | None
) -> Verdict | None:
    """By the fullest GPU that trains; none fits whose engine holds not even one sequence."""
    if offered is None:
        return None
    if engine and not holds_one(engine):
        return "no"
    if alone and alone.share.total > offered:
        return "no"
    return judged(max(totals), offered)


def _rows(
    run: Run,
    parts: dict[RoleName, tuple[Member, ...]],
    worst: dict[Stretch, Fullest],
    engine: Rollout | None,
) -> list[RoleRow]:
    return [
        _row(run, role, parts.get(role.name, ()), worst, engine)
        for role in run.algorithm.roles
        if role.name in parts or (role.name == "rollout" and engine)
    ]


def _row(
    run: Run,
    role: Role,
    stages: tuple[Member, ...],
    worst: dict[Stretch, Fullest],
    engine: Rollout | None,
) -> RoleRow:
    at = {name: one.shares[role.name] for name, one in worst.items() if role.name in one.shares}
    shares = [share for one in stages for share in (one.idle, one.scoring, *one.step)]
    if role.name == "rollout" and engine:
        shares = [engine.share]
    largest = max(shares, key=lambda share: share.total)
    card = run.cast.card(role)
    alone = role.name == "rollout" and run.engine.gpus
    return RoleRow(
        role=role.name, model=card.name, trained=role.trained, computes=role.computes,
        params=counting.count(model(role, run.cast, run.plan).ledger).total,
        alive=tuple(worst) if alone
        else tuple(name for name, share in at.items() if share.total > share.runtime),
        gpus=run.engine.gpus if alone else run.plan.parallel.gpus,
        per_gpu=_per_gpu(largest), by_stretch={name: share.total for name, share in at.items()},
    )  # fmt: skip


def _per_gpu(share: Share) -> RolePerGpu:
    return RolePerGpu(**asdict(share), peak=share.total)


def _stretch(one: Fullest) -> StretchRow:
    roles = one.total - one.process
    return StretchRow(stretch=one.stretch, roles=roles, process=one.process, total=one.total)
