"""How `train` looks: the parts of the peak, and a chart of the step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmcalc.report.model import Column, Table

if TYPE_CHECKING:
    from llmcalc.api.train import Point, TrainResult

WIDTH = 32
"""Cells of the longest bar."""


def tables(result: TrainResult, *, chart: bool) -> tuple[Table, ...]:
    """The parts of the peak, and the step if it is asked for."""
    return (_memory(result), *((_timeline(result.timeline),) if chart else ()))


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
    if result.capacity is not None:
        rows += [("capacity", result.capacity), ("free", result.free or 0)]
    return Table(
        title=f"{result.model}, {result.method}, {result.precision}, {result.shard} on "
        f"{_where(result)}, the fullest GPU",
        columns=(Column(key="part", title="part"), Column(key="bytes", title="size", unit="bytes")),
        rows=tuple(rows),
        note=f"peak in the {result.peak_phase} phase{_off(result)}; "
        f"{result.trainable:,} numbers are trained",
    )


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


def _off(result: TrainResult) -> str:
    """How far such peaks were off on public measurements."""
    if result.error_p50 is None or result.error_p90 is None:
        return ", modelled"
    return f", modelled, off {100 * result.error_p50:.1f} % (p90 {100 * result.error_p90:.1f} %)"


def _where(result: TrainResult) -> str:
    if result.gpu:
        return f"{result.gpus} × {result.gpu}"
    return f"{result.gpus} GPU" + "s" * (result.gpus > 1)
