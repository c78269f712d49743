"""A decode step put together from what was measured apart, to be held against the real one."""

from __future__ import annotations

from llmcalc.bench.rates import step_seconds
from llmcalc.formula import about


def predicted(
    *,
    weight_bytes: int,
    kv_bytes: int,
    operators: int,
    weights: float | None,
    kv: float | None,
    launch: float | None,
) -> float | None:
    """Seconds of a step, None where a rate that it needs was refused."""
    if weights is None or launch is None or (kv is None and kv_bytes):
        return None
    with about("predicted_step"):
        seconds: float = step_seconds(
            weight_bytes=weight_bytes, kv_bytes=kv_bytes, operators=operators,
            weights=weights, kv=kv or 1.0, launch=launch,
        )  # fmt: skip
    return seconds
