"""The error bands found on public measurements, which stand beside modelled numbers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

import llmcalc

FILE = "accuracy.json"
ALL_TRAINING = "all training frameworks"

PARTS: dict[str, tuple[str, ...]] = {
    "weights": ("weights_gib", "model_buf_dev_mib", "model_size"),
    "kv_cache": ("kv_self_mib", "kv_bytes_per_token"),
    "activations": ("activation_peak_gib", "compute_buf_dev_mib"),
    "room": ("kv_avail_gib", "kv_gb"),
    "kv_tokens": ("kv_tokens",),
    "max_concurrency": ("max_concurrency_x",),
}
"""What we print, and the metrics of `llmcalc validate` that measure it, the closest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """How far predictions of one metric were off on `n` public rows, as shares."""

    runtime: str
    metric: str
    n: int
    p50: float
    p90: float


def band(runtime: str, part: str, like: str | None = None) -> Band | None:
    """The band of a part of PARTS under a runtime, or else under one that is `like` it.

    None where nobody measured it.
    """
    found = bands()
    known = (
        found.get((name, metric))
        for name in (runtime, like)
        if name
        for metric in PARTS.get(part, ())
    )
    return next(filter(None, known), None)


def step_group(framework: str, method: str, *, experts: bool) -> str:
    """What the band of training memory is called: `litgpt, lora`, `megatron-lm, full, experts`."""
    return f"{framework}, {method}, experts" if experts else f"{framework}, {method}"


@cache
def bands() -> dict[tuple[str, str], Band]:
    """Every band by runtime and metric, as `python tools/accuracy.py` wrote them."""
    import json  # noqa: PLC0415  (an answer may print no band)

    folder = os.path.join(os.path.dirname(os.path.abspath(llmcalc.__file__)), "measurements")
    with open(os.path.join(folder, FILE), encoding="utf-8") as file:
        written = json.load(file)["bands"]
    return {(one["runtime"], one["metric"]): Band(**one) for one in written}
