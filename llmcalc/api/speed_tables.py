"""What people see of `speed`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmcalc.report.model import Column, Table, Value

if TYPE_CHECKING:
    from llmcalc.api.speed_result import SpeedResult


def speed(result: SpeedResult) -> tuple[Table, ...]:
    """Both phases with their floors, what it costs, and the batch sweep."""
    return (_phases(result), _rates(result), _sweep(result))


def _phases(result: SpeedResult) -> Table:
    where = f"{result.gpus} × {result.gpu}"
    shape = f"{result.batch} × ({result.prompt:,} + {result.output:,}) tokens"
    return Table(
        title=f"{result.model}, {shape} on {where}",
        columns=(
            Column(key="phase", title="phase"),
            Column(key="seconds", title="seconds", unit="seconds"),
            Column(key="bandwidth_floor", title="bandwidth floor", unit="seconds"),
            Column(key="compute_floor", title="compute floor", unit="seconds"),
            Column(key="bound", title="bound by"),
        ),
        rows=(
            ("prefill, to the first token", result.ttft_seconds,
             result.prefill_bandwidth_floor_seconds, result.prefill_compute_floor_seconds,
             result.prefill_bound),
            ("decode, each token", result.tpot_seconds, result.bandwidth_floor_seconds,
             result.compute_floor_seconds, result.bound),
        ),
    )  # fmt: skip


def _rates(result: SpeedResult) -> Table:
    floor = 1 / result.bandwidth_floor_seconds if result.bandwidth_floor_seconds else None
    rows: list[tuple[str, Value]] = [
        ("decode tokens a second", result.decode_tokens_per_second),
        ("a user", result.decode_tokens_per_second_per_user),
        ("a user, at the bandwidth floor", floor),
        ("a GPU", result.decode_tokens_per_second_per_gpu),
        ("prefill tokens a second", result.prefill_tokens_per_second),
        ("tokens out a second, memory full", result.saturated_tokens_per_second),
        ("MBU of decode", result.mbu),
        ("MFU of prefill", result.mfu),
        ("sequences that memory holds", result.max_batch),
        ("batch at the knee", result.knee),
        ("cost of a million tokens out", result.cost_per_million_tokens),
        ("cost of a million tokens in", result.cost_per_million_input_tokens),
        ("joules a token, at most", result.joules_per_token),
    ]
    off = ""
    if result.error_p50 is not None and result.error_p90 is not None:
        off = (
            f"decode on public rows: off {100 * result.error_p50:.0f} % in the median,"
            f" {100 * result.error_p90:.0f} % at the ninetieth percentile"
        )
    return Table(
        columns=(
            Column(key="rate", title="rate"),
            Column(key="value", title="value", unit="rate"),
        ),
        rows=tuple(row for row in rows if row[1] is not None),
        note=off,
    )


def _sweep(result: SpeedResult) -> Table:
    return Table(
        columns=(
            Column(key="batch", title="batch", unit="count"),
            Column(key="tpot_seconds", title="seconds a token", unit="seconds"),
            Column(key="tokens_per_second", title="tokens a second", unit="rate"),
            Column(key="bound", title="bound by"),
        ),
        rows=tuple(
            (one.batch, one.tpot_seconds, one.tokens_per_second, one.bound) for one in result.sweep
        ),
    )
