"""How `bench` looks: one table a question, then what was refused, then predicted and measured."""

from __future__ import annotations

from collections.abc import Sequence

from llmcalc.report.model import Column, Row, Table
from llmcalc.spec.measurement import Measurement, Refusal, StepRate

_TIMES = (
    Column(key="seconds", title="seconds", unit="seconds"),
    Column(key="seconds_p10", title="p10", unit="seconds"),
    Column(key="seconds_p90", title="p90", unit="seconds"),
)
_GB_S = Column(key="gb_s", title="GB/s", unit="rate")


def tables(found: Measurement) -> tuple[Table, ...]:
    """Those that hold something."""
    made = (
        _summary(found), _streams(found), _matmuls(found), _attention(found), _steps(found),
        _collectives(found), _told("refused", found.refused),
        _told("may be too low", found.disturbed),
    )  # fmt: skip
    return tuple(one for one in made if one.rows)


def last_lines(found: Measurement, path: str | None) -> str:
    """Each step, predicted and measured; and where it was saved."""
    told = [_beside(one) for one in found.steps]
    told += [f"saved: {path}, for --gpu {found.name}"] if path else []
    return "\n".join(told)


def _beside(one: StepRate) -> str:
    layers = "" if one.layers == one.of_layers else f", {one.layers} of {one.of_layers} layers"
    way = ", CUDA graph" if one.graph else ""
    what = f"decode step of {one.model}{layers}, batch {one.batch}, context {one.context}{way}"
    measured = f"measured {1000 * one.seconds:.4g} ms"
    if one.predicted_seconds is None:
        return f"{what}: {measured}, not predicted for a rate was refused"
    off = one.predicted_seconds / one.seconds - 1
    return f"{what}: predicted {1000 * one.predicted_seconds:.4g} ms, {measured} ({off:+.1%})"


def _summary(found: Measurement) -> Table:
    versions = ", ".join(f"{name} {what}" for name, what in found.versions.items())
    clocks = "".join(f", {name} {what:.4g}" for name, what in found.clocks.items())
    rows: list[Row] = [
        ("read", found.read_gb_s, "GB/s"),
        ("copy", found.copy_gb_s, "GB/s"),
        ("triad", found.triad_gb_s, "GB/s"),
        ("peak of the spec", found.peak_gb_s, "GB/s"),
        ("weights, one token", found.weights_gb_s, "GB/s"),
        ("cache, one query", found.kv_gb_s, "GB/s"),
        ("int8 dot products", found.dots_tflop_s, "TFLOP/s"),
        ("launch", _microseconds(found.launch_seconds), "microseconds"),
        ("operator", _microseconds(found.operator_seconds), "microseconds"),
    ]
    return Table(
        title=found.device,
        columns=(
            Column(key="figure", title="figure"),
            Column(key="value", title="value", unit="rate"),
            Column(key="unit", title="unit"),
        ),
        rows=tuple(row for row in rows if row[1] is not None),
        note=f"{found.date}, {found.threads} threads, {versions}{clocks}",
    )


def _microseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 10**6


def _streams(found: Measurement) -> Table:
    return Table(
        title="memory",
        columns=(
            Column(key="operation", title="operation"),
            Column(key="bytes", title="array", unit="bytes"),
            _GB_S, Column(key="of_peak", title="of peak", unit="percent"), *_TIMES,
        ),
        rows=tuple(
            (
                one.operation, one.bytes, one.gb_s,
                one.gb_s / found.peak_gb_s if found.peak_gb_s else None,
                one.seconds, one.seconds_p10, one.seconds_p90,
            )
            for one in found.streams
        ),
    )  # fmt: skip


def _matmuls(found: Measurement) -> Table:
    numbers = (Column(key=one, title=one, unit="count") for one in ("m", "n", "k"))
    return Table(
        title="tokens times weights",
        columns=(
            Column(key="dtype", title="dtype"), *numbers,
            Column(key="tflop_s", title="TFLOP/s", unit="rate"), _GB_S, *_TIMES,
        ),
        rows=tuple(
            (
                one.dtype, one.m, one.n, one.k, one.tflop_s, one.gb_s,
                one.seconds, one.seconds_p10, one.seconds_p90,
            )
            for one in found.matmuls
        ),
    )  # fmt: skip


def _attention(found: Measurement) -> Table:
    return Table(
        title="one query over a cache",
        columns=(
            Column(key="kernel", title="kernel"), Column(key="dtype", title="dtype"),
            Column(key="context", title="context", unit="tokens"),
            Column(key="bytes", title="cache", unit="bytes"), _GB_S, *_TIMES,
        ),
        rows=tuple(
            (
                one.kernel, one.dtype, one.context, one.bytes, one.gb_s,
                one.seconds, one.seconds_p10, one.seconds_p90,
            )
            for one in found.attention
        ),
    )  # fmt: skip


def _steps(found: Measurement) -> Table:
    return Table(
        title="decode steps",
        columns=(
            Column(key="model", title="model"), Column(key="layers", title="layers", unit="count"),
            Column(key="of_layers", title="of", unit="count"),
            Column(key="batch", title="batch", unit="count"),
            Column(key="context", title="context", unit="tokens"),
            Column(key="graph", title="graph"),
            Column(key="tokens_per_second", title="tokens/s", unit="rate"),
            Column(key="mbu", title="MBU", unit="percent"),
            Column(key="predicted_seconds", title="predicted seconds", unit="seconds"), *_TIMES,
        ),
        rows=tuple(
            (
                one.model, one.layers, one.of_layers, one.batch, one.context, one.graph,
                one.tokens_per_second, one.mbu, one.predicted_seconds,
                one.seconds, one.seconds_p10, one.seconds_p90,
            )
            for one in found.steps
        ),
    )  # fmt: skip


def _collectives(found: Measurement) -> Table:
    return Table(
        title="between ranks",
        columns=(
            Column(key="operation", title="operation"), Column(key="backend", title="backend"),
            Column(key="ranks", title="ranks", unit="count"),
            Column(key="bytes", title="message", unit="bytes"),
            Column(key="algorithm_gb_s", title="algorithm GB/s", unit="rate"),
            Column(key="bus_gb_s", title="bus GB/s", unit="rate"), *_TIMES,
        ),
        rows=tuple(
            (
                one.operation, one.backend, one.ranks, one.bytes, one.algorithm_gb_s,
                one.bus_gb_s, one.seconds, one.seconds_p10, one.seconds_p90,
            )
            for one in found.collectives
        ),
    )  # fmt: skip


def _told(title: str, found: Sequence[Refusal]) -> Table:
    return Table(
        title=title,
        columns=(Column(key="figure", title="figure"), Column(key="reason", title="reason")),
        rows=tuple((one.figure, one.reason) for one in found),
    )
