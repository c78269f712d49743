"""How `train` looks: the parts of the peak, a chart of the step, its time and the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmcalc.api.bands import off
from llmcalc.planner.fit import COMFORT
from llmcalc.report.model import Column, Table, Value

if TYPE_CHECKING:
    from llmcalc.api.train import Point, TrainResult
    from llmcalc.api.train_time import TrainTime

DAY = 86_400
RATES = (Column(key="name", title=""), Column(key="value", title="value", unit="rate"))
WIDTH = 32
"""Cells of the longest bar."""


def tables(result: TrainResult, *, chart: bool) -> tuple[Table, ...]:
    """The parts of the peak, the step if it is asked for, and the time where a GPU is named."""
    return (
        _memory(result),
        *((_timeline(result.timeline),) if chart else ()),
        *((_time(result.time),) if result.time else ()),
        *((_run(result.time),) if result.time and result.time.totals else ()),
    )


def _memory(result: TrainResult) -> Table:
    """The parts of the peak."""
    parts = result.per_gpu
    rows: list[tuple[str, int]] = [
        ("weights", parts.weights),
        ("gradients", parts.gradients),
        ("master weights", parts.master_weights),
        (f"{result.optimizer} states", parts.optimizer),
        ("activations", parts.activations),
        ("logits and loss", parts.logits),
        ("buffers", parts.buffers),
        ("runtime", parts.runtime),
        ("peak", parts.peak),
    ]
    if parts.host:
        rows.append(("on the host", parts.host))
    if parts.nvme:
        rows.append(("on NVMe", parts.nvme))
    if result.capacity is not None:
        rows += [("capacity", result.capacity), ("free", result.free or 0)]
    return Table(
        title=f"{result.model}, {result.method}, {result.precision}, {result.shard} on "
        f"{_where(result)}, the fullest GPU",
        columns=(Column(key="part", title="part"), Column(key="bytes", title="size", unit="bytes")),
        rows=tuple(rows),
        note=f"peak in the {result.peak_phase} phase{_off(result)}; "
        f"{result.trainable:,} numbers are trained{_judged(result)}",
    )


def _judged(result: TrainResult) -> str:
    """Whether it fits, as a reader says it; nothing where no GPU is named."""
    if result.verdict == "fits":
        return "; it fits"
    if result.verdict == "no":
        return "; it does not fit"
    if result.verdict is None:
        return ""
    if (result.free or 0) < 0:
        return "; it is tight: it fits only once the allocator gives back its reserve"
    return f"; it is tight: it takes more than {100 * COMFORT:.0f} % of the memory"


def _timeline(points: tuple[Point, ...]) -> Table:
    """Live tensors over a step, each point a bar."""
    highest = max(point.total for point in points)
    return Table(
        title="live tensors over one step",
        columns=(
            Column(key="phase", title="phase"),
            Column(key="at", title="when"),
            Column(key="total", title="size", unit="bytes"),
            Column(key="bar", title=""),
        ),
        rows=tuple(
            (point.phase, point.at, point.total, "#" * max(1, WIDTH * point.total // highest))
            for point in points
        ),
    )


def _time(time: TrainTime) -> Table:
    """One step, and what its seconds go to."""
    rows: list[tuple[str, Value]] = [
        ("seconds of a step", time.step_seconds),
        *((f"of which {name}", seconds) for name, seconds in time.parts.items() if seconds),
        ("tokens of a step", time.tokens_per_step),
        ("tokens a second, each GPU", time.tokens_per_second_per_gpu),
        ("PFLOP of a step", time.flops_per_step / 1e15),
        ("MFU", time.mfu),
        ("HFU, with recomputation", time.hfu),
    ]
    notes = []
    if time.error_p50 is not None and time.error_p90 is not None:
        band = f"{100 * time.error_p50:.0f} % (p90 {100 * time.error_p90:.0f} %)"
        notes.append(f"modelled, off {band} on publishers not fitted")
    elif time.mfu_basis == "fitted":
        notes.append("modelled, of a GPU or a width that no public run had")
    if seen := time.published:
        range_ = f"{seen.p50:.2f} ({seen.p10:.2f} to {seen.p90:.2f})"
        notes.append(f"published runs of this size: MFU {range_}")
    return Table(title="time of a step", columns=RATES, rows=tuple(rows), note="; ".join(notes))


def _run(time: TrainTime) -> Table:
    """The whole run."""
    all_of_it = time.totals
    assert all_of_it is not None  # noqa: S101  asked by the caller
    rows: list[tuple[str, Value]] = [
        ("steps", all_of_it.steps),
        ("days", all_of_it.seconds / DAY),
        ("GPU-hours", all_of_it.gpu_hours),
        ("GPU-hours as publishers count", time.whole_run_gpu_hours),
        ("cost", all_of_it.cost),
        ("MWh of the GPUs, at most", (all_of_it.energy_kwh or 0) / 1000 or None),
        ("goodput", time.goodput),
        ("failures a day", time.failures_per_day),
        ("minutes between checkpoints", time.checkpoint_interval / 60),
    ]
    return Table(
        title=f"the run, {all_of_it.tokens:,} tokens", columns=RATES,
        rows=tuple(row for row in rows if row[1] is not None),
        note="" if time.whole_run_gpu_hours is None
        else "publishers' GPU-hours hold evaluation, restarts and trials beside steady training",
    )  # fmt: skip


def _off(result: TrainResult) -> str:
    """How far such peaks were off on public measurements."""
    if result.error_p50 is None or result.error_p90 is None:
        return ", modelled"
    runs = "1 public run" if result.error_n == 1 else f"{result.error_n} public runs"
    return f", modelled, {off(result.error_p50, result.error_p90)} on {runs} ({result.error_of})"


def _where(result: TrainResult) -> str:
    if result.gpu:
        return f"{result.gpus} × {result.gpu}"
    return f"{result.gpus} GPU" + "s" * (result.gpus > 1)
