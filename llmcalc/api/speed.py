"""`speed`: how fast prompts are read and tokens come, bound by what, at what cost."""

from __future__ import annotations

from llmcalc.api import speed_tables as tables
from llmcalc.api.request import at_least_one, within_limit
from llmcalc.api.served import Load, saturated, serve
from llmcalc.api.setup import Setup
from llmcalc.api.speed_result import Point, SpeedResult, Timed, result
from llmcalc.formula import quietly
from llmcalc.planner.pace import Served
from llmcalc.report.model import Report
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec


def speed(
    card: ModelCard,
    setup: Setup,
    gpu: GpuSpec,
    load: Load,
    *,
    host: GpuSpec | None = None,
    price: float | None = None,
    force: bool = False,
) -> Report:
    """Speed of `batch` sequences. Raises LlmcalcError for impossible sizes or an unknown rate."""
    at_least_one(batch=load.batch, prompt=load.prompt, output=load.output)
    within_limit(card, load.prompt + load.output, option="--prompt and --output", force=force)
    served, room = serve(card, setup, gpu, load, host=host)
    replicas = served.parallel.replicas
    own = -(-load.batch // replicas)
    with quietly():
        decode, prefill = served.decode(own, load.middle), served.prefill(own, load.prompt)
        timed = Timed(
            decode=decode, prefill=prefill, sweep=_sweep(served, load, room, replicas),
            full=saturated(served, load, room), room=room,
        )  # fmt: skip
    found = result(card, setup, gpu, load, served, timed, price)
    return Report(
        command="speed", results=(found,), tables=tables.speed(found),
        assumptions=tuple(f"{name} {value}" for name, value in found.assumptions.items()),
        warnings=_warnings(found),
    )  # fmt: skip


def _sweep(served: Served, load: Load, room: int | None, replicas: int) -> tuple[Point, ...]:
    """Decoding at doubled batches, as far as the memory reaches."""
    most = min(room or 256, 1024)
    points, batch = [], 1
    while batch <= most // replicas:
        step = served.decode(batch, load.middle)
        whole = batch * replicas
        points.append(
            Point(batch=whole, tpot_seconds=step.seconds, tokens_per_second=whole / step.seconds,
                  bound=step.bound)
        )  # fmt: skip
        batch *= 2
    return tuple(points)


def _warnings(result: SpeedResult) -> tuple[str, ...]:
    if result.max_batch is not None and result.batch > result.max_batch:
        return (f"the memory holds {result.max_batch:,} sequences of this length at once",)
    return ()
