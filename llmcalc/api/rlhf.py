"""`rlhf`: which models one iteration of preference training holds on each GPU, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from llmcalc.api import rlhf_tables as tables
from llmcalc.api.request import within_limit
from llmcalc.api.rlhf_engine import Engine, Place, holds_one, rollout
from llmcalc.api.rlhf_models import Cast, held, method, model
from llmcalc.api.rlhf_result import RlhfResult, RolePerGpu, RoleRow, StretchRow
from llmcalc.engines import params as counting
from llmcalc.engines.capacity import capacity
from llmcalc.engines.rlhf.member import Member
from llmcalc.engines.rlhf.rollout import Rollout
from llmcalc.engines.rlhf.share import Share
from llmcalc.engines.rlhf.stretches import Fullest, asleep, beside, fullest
from llmcalc.engines.train.plan import Plan
from llmcalc.errors import UsageError
from llmcalc.formula import quietly, record_sum
from llmcalc.planner.fit import Verdict, judged
from llmcalc.report.model import Report
from llmcalc.spec.algorithm import Algorithm, Role, RoleName, Stretch
from llmcalc.spec.gpu import GpuSpec

__all__ = ["Cast", "Engine", "RlhfResult", "Run", "rlhf"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One way to train on preferences."""

    algorithm: Algorithm
    cast: Cast
    plan: Plan
    """Of the policy; a critic is trained alike."""
    engine: Engine
    idle_on_host: bool = False
    """Whether models wait on the host while they do not compute."""


def rlhf(run: Run, *, gpu: GpuSpec | None = None) -> Report:
    """The memory of one iteration, role by role and stretch by stretch, on the fullest GPU.

    Raises ImpossibleError for splits that a model does not allow, UsageError for an engine that
    the algorithm does not need.
    """
    run = _checked(run)
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
    result = _result(run, parts, worst, engine, offered, gpu)
    return Report(
        command="rlhf", results=(result,), tables=tables.tables(result),
        assumptions=tuple(f"{name}: {value}" for name, value in result.assumptions.items()),
    )  # fmt: skip


def _checked(run: Run) -> Run:
    """Pairs go through together; an engine of its own needs sequences to make."""
    within_limit(run.cast.policy, run.plan.seq, option="--seq", force=False)
    if run.engine.gpus and not run.algorithm.generates:
        raise UsageError(
            f"{run.algorithm.name} makes no sequences", hint="leave --rollout-gpus out"
        )
    together = run.plan.micro_batch * run.algorithm.together
    return replace(run, plan=replace(run.plan, micro_batch=together))


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
    return rollout(run.cast.policy, run.engine, run.plan.seq, place)


def _with(run: Run, one: Fullest, engine: Rollout | None) -> Fullest:
    """A stretch with the engine on the same GPU, awake or asleep."""
    if engine is None:
        return one
    awake = one.stretch == "rollout" or not run.engine.sleeps
    return beside(one, engine.share if awake else asleep(engine.share))


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
) -> RlhfResult:
    alone = engine if run.engine.gpus else None
    totals = {str(name): one.total for name, one in worst.items()}
    if alone:
        totals["rollout"] = max(totals["rollout"], alone.share.total)
    phase = max(worst, key=lambda name: totals[name])
    peak = totals[phase]
    return RlhfResult(
        model=run.cast.policy.name, algorithm=run.algorithm.name, method=method(run.plan),
        precision=run.plan.recipe.name, optimizer=run.plan.optimizer.name,
        shard=run.plan.sharding,
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
        basis="modelled", assumptions=_assumptions(run, engine, gpu),
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
        at = at or dict.fromkeys(worst, engine.share)
    largest = max(shares, key=lambda share: share.total)
    card = run.cast.card(role)
    alone = role.name == "rollout" and run.engine.gpus
    return RoleRow(
        role=role.name, model=card.name, trained=role.trained, computes=role.computes,
        params=counting.count(model(role, run.cast, run.plan).ledger).total,
        alive=tuple(name for name, share in at.items() if share.total > share.runtime),
        gpus=run.engine.gpus if alone else run.plan.parallel.gpus,
        per_gpu=_per_gpu(largest), by_stretch={name: share.total for name, share in at.items()},
    )  # fmt: skip


def _per_gpu(share: Share) -> RolePerGpu:
    return RolePerGpu(**asdict(share), peak=share.total)


def _stretch(one: Fullest) -> StretchRow:
    roles = one.total - one.process
    return StretchRow(stretch=one.stretch, roles=roles, process=one.process, total=one.total)


def _assumptions(
    run: Run, engine: Rollout | None, gpu: GpuSpec | None
) -> dict[str, str | int | float]:
    plan = run.plan
    named: dict[str, str | int | float] = {
        "algorithm": run.algorithm.title,
        "precision": plan.recipe.title,
        "framework": plan.framework.title,
        "sequence": plan.seq,
        "sequences at once": plan.micro_batch,
        "idle models": "on the host" if run.idle_on_host else "stay on the GPU",
        "scoring": "one model after another, a layer's tensors and its logits",
    }
    if plan.adapters:
        named["reference"] = "the policy without its adapters"
    if engine:
        chosen = run.engine.setup
        named["engine"] = f"{chosen.runtime.name} {chosen.runtime.version}, tp {run.engine.tp}"
        named["engine's weights"] = f"{chosen.weights.title}, a copy of its own"
        named["sequences made at once"] = run.engine.batch
        if not run.engine.gpus:
            named["while others compute"] = (
                "weights and cache of the engine leave" if run.engine.sleeps else "the engine stays"
            )
    if gpu:
        named["capacity"] = capacity(gpu).basis
    return named
