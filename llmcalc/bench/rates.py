"""The formulas between a time and what is reported of it."""

from __future__ import annotations

from llmcalc.formula import formula

BANDWIDTH = "bytes moved over the time they took, decimal"


@formula("bytes / seconds / 1e9", source=BANDWIDTH, unit="GB/s", basis="measured")
def gb_s(*, bytes: float, seconds: float) -> float:
    """Bandwidth in 10^9 bytes a second."""
    return bytes / seconds / 1e9


@formula(
    "2 · m · n · k / seconds / 1e12",
    source="two FLOP a multiply-add, m · n · k of them in a product",
    unit="TFLOP/s",
    basis="measured",
)
def tflop_s(*, m: int, n: int, k: int, seconds: float) -> float:
    """Rate of a product of [m, k] and [k, n]."""
    return 2 * m * n * k / seconds / 1e12


@formula(
    "(weight_bytes + kv_bytes) / seconds / (peak · 1e9)",
    source="MBU, https://www.databricks.com/blog/llm-inference-performance-engineering-best-practices",
    basis="measured",
)
def mbu(*, weight_bytes: int, kv_bytes: int, seconds: float, peak: float) -> float:
    """Model bandwidth utilisation: what a step must read over what could be read meanwhile."""
    return (weight_bytes + kv_bytes) / seconds / (peak * 1e9)


@formula(
    "weight_bytes / (weights · 1e9) + kv_bytes / (kv · 1e9) + operators · launch",
    source="each byte at the rate measured for its kind, each operator at the time to launch it",
    unit="seconds",
    basis="modelled",
)
def step_seconds(
    *, weight_bytes: int, kv_bytes: int, operators: int, weights: float, kv: float, launch: float
) -> float:
    """A decode step put together from rates (GB/s) that were measured apart."""
    return weight_bytes / (weights * 1e9) + kv_bytes / (kv * 1e9) + operators * launch


_NCCL = "https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md"


@formula("algorithm · 2 · (ranks - 1) / ranks", source=_NCCL, unit="GB/s", basis="measured")
def all_reduce_bus(*, algorithm: float, ranks: int) -> float:
    """What each link carries: all but its own share, once to be summed and once to be spread."""
    return algorithm * 2 * (ranks - 1) / ranks


@formula("algorithm · (ranks - 1) / ranks", source=_NCCL, unit="GB/s", basis="measured")
def scattered_bus(*, algorithm: float, ranks: int) -> float:
    """What each link carries of an all-gather or all-to-all: all but its own share."""
    return algorithm * (ranks - 1) / ranks
