"""A device as it was measured: rates of real products at their number of tokens, no guesses.

Engines on CPUs (ggml) multiply narrow weights row by row: each token's dot products with a few rows
that a cache holds. So one token goes as fast as narrow weights come from memory, and many as fast
as dot products from a cache; the cache of keys and values is read as arrays are.
"""

from __future__ import annotations

from llmcalc.engines.device import GB, TERA, Curve, Device
from llmcalc.errors import ImpossibleError
from llmcalc.spec.efficiency import Reach
from llmcalc.spec.measurement import Measurement

NODES = 33
"""Operators of a layer that ggml's threads wait for each other after: a log of 30 layers has 995
(llmcalc/measurements/llamacpp.tsv, l300)."""


def measured_device(found: Measurement, bits: float, *, operators: int) -> Device:
    """The device for weights of so many bits whose engine calls `operators` kernels a layer.

    Weights of fewer than 16 bits are widened while they are multiplied: their products go as fast
    as measured with int8 weights, and on a CPU row by row. Raises ImpossibleError where a rate was
    refused.
    """
    swept = found.read_gb_s or found.triad_gb_s or found.copy_gb_s
    rate = found.peak_gb_s or swept
    narrow = bits < 16  # noqa: PLR2004
    curve = rates(found, "int8") if narrow else rates(found, found.dtype)
    curve = curve or rates(found, found.dtype)
    by_rows = narrow and found.kind == "cpu" and found.dots_tflop_s is not None
    if by_rows:
        curve, operators = row_by_row(found), NODES
    if rate is None or swept is None or not curve:
        lacks = "bandwidth" if swept is None else "rate of products"
        why = f"{len(found.refused)} figures were refused" if found.refused else "not measured"
        raise ImpossibleError(
            f"{found.name} has no {lacks}: {why}",
            hint="measure it again: llmcalc bench --save NAME",
        )
    reached = found.weights_gb_s if found.weights_gb_s and not narrow else swept
    reach = Reach(
        weights=min(1.0, reached / rate),
        cache=1.0 if by_rows else min(1.0, (found.kv_gb_s or reached) / rate),
        compute=1.0, layer_seconds=operators * (found.launch_seconds or 0.0),
        source=f"llmcalc bench, {found.date}",
    )  # fmt: skip
    link = max((one.bus_gb_s for one in found.collectives), default=1.0)
    return Device(
        name=found.name, bandwidth=rate * GB, compute=max(speed for _, speed in curve),
        reach=reach, link=link * GB, link_seconds=_latency(found), curve=curve,
    )  # fmt: skip


def row_by_row(found: Measurement) -> Curve:
    """FLOP/s of narrow weights on a CPU: one token as int8 weights come, more from a cache."""
    dots = (found.dots_tflop_s or 0.0) * TERA
    one = [speed for tokens, speed in rates(found, "int8") if tokens == 1]
    return (*((1, min(speed, dots)) for speed in one), (2, dots))


def rates(found: Measurement, dtype: str) -> Curve:
    """FLOP/s of products with weights of that type, by tokens, the median over shapes."""
    by_tokens: dict[int, list[float]] = {}
    for one in found.matmuls:
        if one.dtype == dtype:
            by_tokens.setdefault(one.m, []).append(one.tflop_s * TERA)
    return tuple(
        (tokens, sorted(speeds)[len(speeds) // 2]) for tokens, speeds in sorted(by_tokens.items())
    )


def _latency(found: Measurement) -> float:
    """Seconds of the smallest collective that was measured."""
    small = [one.seconds for one in found.collectives if one.operation == "all_reduce"]
    return min(small, default=25e-6)
