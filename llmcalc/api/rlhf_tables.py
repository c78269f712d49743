"""How `rlhf` looks: the roles, the stretches of an iteration, and the room of the engine."""

from __future__ import annotations

from llmcalc.api.rlhf_result import RlhfResult, RoleRow
from llmcalc.report.model import Column, Table

STATES = ("gradients", "master_weights", "optimizer")
WORK = ("activations", "logits", "buffers", "state", "runtime")


def tables(result: RlhfResult) -> tuple[Table, ...]:
    """Each role at its own peak, each stretch, and what the engine's cache holds."""
    room = _room(result)
    return (_roles(result), _stretches(result), *((room,) if room.rows else ()))


def _roles(result: RlhfResult) -> Table:
    sizes = ("weights", "states", "cache", "rest", "peak")
    return Table(
        title=f"{result.algorithm} of {result.model}, {result.method}, {result.precision}, "
        f"{result.shard} on {_where(result)}, each role at its own peak",
        columns=(
            Column(key="role", title="role"),
            Column(key="alive", title="alive in"),
            *(Column(key=name, title=name, unit="bytes") for name in sizes),
        ),
        rows=tuple(_row(role) for role in result.roles),
    )


def _row(role: RoleRow) -> tuple[str | int, ...]:
    held = role.per_gpu
    return (
        role.role + (", trained" if role.trained else ""),
        ", ".join(role.alive) or "-",
        held.weights,
        sum(getattr(held, name) for name in STATES),
        held.kv_cache,
        sum(getattr(held, name) for name in WORK),
        held.peak,
    )


def _stretches(result: RlhfResult) -> Table:
    names = [role.role for role in result.roles if result.engine is None or role.role != "rollout"]
    by_role = {role.role: role.by_stretch for role in result.roles}
    rows = tuple(
        (
            one.stretch,
            *(by_role[name].get(one.stretch, 0) for name in names),
            one.process,
            one.total,
        )
        for one in result.stretches
    )
    return Table(
        title="one iteration, the fullest GPU that trains",
        columns=(
            Column(key="stretch", title="phase"),
            *(Column(key=name, title=name, unit="bytes") for name in names),
            Column(key="process", title="process", unit="bytes"),
            Column(key="total", title="total", unit="bytes"),
        ),
        rows=rows,
        note=f"peak in the {result.peak_phase} phase, modelled{_judged(result)}",
    )


def _judged(result: RlhfResult) -> str:
    words = {"fits": "it fits", "tight": "it is tight", "no": "it does not fit"}
    return f"; {words[result.verdict]}" if result.verdict else ""


def _room(result: RlhfResult) -> Table:
    sizes: list[tuple[str, int | float | None]] = [
        ("tokens of cache, each engine", result.kv_tokens),
        ("sequences at once, each engine", result.max_concurrency),
        ("share of a GPU that the engine takes", result.gpu_memory_utilization),
    ]
    return Table(
        columns=(
            Column(key="limit", title="engine"),
            Column(key="value", title="value", unit="rate"),
        ),
        rows=tuple((name, value) for name, value in sizes if value is not None),
    )


def _where(result: RlhfResult) -> str:
    on = f"{result.gpus} × {result.gpu}" if result.gpu else f"{result.gpus} GPUs"
    own = f" and {result.rollout_gpus} for the engine" if result.rollout_gpus else ""
    return on + own
