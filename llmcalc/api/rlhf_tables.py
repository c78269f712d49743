"""How `rlhf` looks: the roles, the stretches of an iteration, and the room of the engine."""

from __future__ import annotations

from llmcalc.api.rlhf_result import RlhfResult, RoleRow
from llmcalc.api.rlhf_time import RlhfTime
from llmcalc.report.model import Column, Table, Value

STATES = ("gradients", "master_weights", "optimizer")
WORK = ("activations", "logits", "buffers", "state", "runtime")


def tables(result: RlhfResult) -> tuple[Table, ...]:
    """Each role at its own peak, each stretch, and what the engine's cache holds."""
    room = _room(result)
    return (
        _roles(result),
        _stretches(result),
        *((room,) if room.rows else ()),
        *((_time(result, result.time),) if result.time else ()),
    )


def _roles(result: RlhfResult) -> Table:
    sizes = ("weights", "states", "cache", "rest", "peak")
    return Table(
        title=f"{result.algorithm} of {result.model}, {result.method}, {result.precision}, "
        f"{result.shard}",
        columns=(
            Column(key="role", title="role"),
            *(Column(key=name, title=name, unit="bytes") for name in sizes),
        ),
        rows=tuple(_row(role) for role in result.roles),
        note=f"on {_where(result)}, each role at its own peak",
    )


def _row(role: RoleRow) -> tuple[str | int, ...]:
    held = role.per_gpu
    return (
        role.role + (", trained" if role.trained else ""),
        held.weights,
        sum(getattr(held, name) for name in STATES),
        held.kv_cache,
        sum(getattr(held, name) for name in WORK),
        held.peak,
    )


def _stretches(result: RlhfResult) -> Table:
    """A column for each phase, a row for each who is on a GPU that trains."""
    phases = result.stretches
    rows: list[tuple[str | int, ...]] = [
        (role.role, *(role.by_stretch.get(one.stretch, 0) for one in phases))
        for role in result.roles
        if result.engine is None or role.role != "rollout"
    ]
    rows.append(("process", *(one.process for one in phases)))
    rows.append(("total", *(one.total for one in phases)))
    return Table(
        title="one iteration, the fullest GPU that trains",
        columns=(
            Column(key="phase", title="phase"),
            *(Column(key=one.stretch, title=one.stretch, unit="bytes") for one in phases),
        ),
        rows=tuple(rows),
        note=f"peak {_at(result)}, modelled{_judged(result)}",
    )


def _at(result: RlhfResult) -> str:
    training = max(one.total for one in result.stretches)
    return f"in the {result.peak_phase} phase" + (
        ", on the GPUs of the engine" if result.peak > training else ""
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


def _time(result: RlhfResult, time: RlhfTime) -> Table:
    """Seconds by phase, and what so many iterations come to."""
    rows: list[tuple[str, Value]] = [
        ("seconds of an iteration", time.iteration_seconds),
        *((f"of which {name}", seconds) for name, seconds in time.seconds.items()),
        ("sequences of an iteration", time.sequences),
        ("sequences at once, each engine", time.rollout_batch),
        ("tokens a second, all GPUs", time.tokens_per_second),
        ("- of completions", time.output_tokens_per_second),
        ("GPU-hours", time.gpu_hours),
        ("cost", time.cost),
    ]
    return Table(
        title=f"time of {_many(time.iterations)}, {result.prompt:,} of prompt and "
        f"{result.output:,} of completion",
        columns=(
            Column(key="name", title="time"),
            Column(key="value", title="value", unit="rate"),
        ),
        rows=tuple(row for row in rows if row[1] is not None),
        note="modelled; scored on DeepSpeed-Chat's runs alone, see docs/rlhf.md",
    )


def _many(iterations: int) -> str:
    return "one iteration" if iterations == 1 else f"{iterations:,} iterations"


def _where(result: RlhfResult) -> str:
    many = "1 GPU" if result.gpus == 1 else f"{result.gpus} GPUs"
    on = f"{result.gpus} × {result.gpu}" if result.gpu else many
    own = f" and {result.rollout_gpus} for the engine" if result.rollout_gpus else ""
    return on + own
