"""What `bench` answers, from a measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from llmcalc.spec.measurement import (
    AttentionRate,
    CollectiveRate,
    MatmulRate,
    Measurement,
    Refusal,
    StepRate,
    StreamRate,
)

HOW = {
    "figures": "medians; refused where (p90 - p10) / median is over 20 %, where the second half "
    "differs from the first by over 10 %, or over 1.05 of the spec's peak",
    "bandwidth": "bytes that must move over the time; STREAM's count, written lines fetched first "
    "are not counted",
    "data": "random numbers in buffers that together are at least 4 times the last cache",
    "weights": "random, layers cut to what fits; of experts those that a random choice visits",
    "mbu": "bytes of weights and cache over the time, against the spec's peak, or the read "
    "bandwidth where none is known",
    "predicted": "bytes over the rates measured here, plus the time of each operator",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeResult:
    """What decides how fast tokens come."""

    weights_gb_s: float | None
    """All matrices of the model times one token."""
    kv_gb_s: float | None
    """Cache read by attention at the longest context."""
    tokens_per_second: float | None
    """Of a real step of batch 1, of the layers that fit; the fastest way of launching it."""
    mbu: float | None
    predicted_tokens_per_second: float | None
    """The same step from the rates measured apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandwidth:
    """All-reduce of one size."""

    bytes: int
    gb_s: float
    """Bus bandwidth, to be compared with the speed of a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """All figures of one run; null where one is refused or was not asked for."""

    device: str
    read_gb_s: float | None
    copy_gb_s: float | None
    triad_gb_s: float | None
    peak_gb_s: float | None
    """Of the spec of the catalog that the device's name means."""
    fraction_of_peak: float | None
    """Read bandwidth over it."""
    decode: DecodeResult
    matmul: tuple[MatmulRate, ...]
    launch_seconds: float | None
    operator_seconds: float | None
    allreduce: tuple[Bandwidth, ...]
    streams: tuple[StreamRate, ...]
    attention: tuple[AttentionRate, ...]
    steps: tuple[StepRate, ...]
    collectives: tuple[CollectiveRate, ...]
    refused: tuple[Refusal, ...]
    """Figures that are not reported, and why."""
    disturbed: tuple[Refusal, ...]
    """Figures that may be too low, for others had the cores."""
    kind: str
    gpu: str | None
    model: str | None
    date: str
    host_cpu: str
    threads: int
    memory_bytes: int
    cache_bytes: int
    versions: Mapping[str, str]
    clocks: Mapping[str, float]
    saved: str | None
    """Path of the file, with --save."""
    basis: Literal["measured"]
    assumptions: Mapping[str, str]


def result(found: Measurement, *, model: str | None, path: str | None) -> BenchResult:
    """All of a measurement, as one result; `model` is the card whose shapes were measured."""
    peak, read = found.peak_gb_s, found.read_gb_s
    return BenchResult(
        device=found.device, read_gb_s=read, copy_gb_s=found.copy_gb_s,
        triad_gb_s=found.triad_gb_s, peak_gb_s=peak,
        fraction_of_peak=read / peak if read and peak else None, decode=_decode(found),
        matmul=found.matmuls, launch_seconds=found.launch_seconds,
        operator_seconds=found.operator_seconds,
        allreduce=tuple(
            Bandwidth(bytes=one.bytes, gb_s=one.bus_gb_s)
            for one in found.collectives
            if one.operation == "all_reduce"
        ),
        streams=found.streams, attention=found.attention, steps=found.steps,
        collectives=found.collectives, refused=found.refused, disturbed=found.disturbed,
        kind=found.kind, gpu=found.gpu, model=model, date=found.date, host_cpu=found.host_cpu,
        threads=found.threads, memory_bytes=found.memory_bytes, cache_bytes=found.cache_bytes,
        versions=found.versions, clocks=found.clocks, saved=path, basis="measured",
        assumptions=HOW,
    )  # fmt: skip


def _decode(found: Measurement) -> DecodeResult:
    single = [one for one in found.steps if one.batch == 1]
    best = min(single, key=lambda one: (one.context, one.seconds), default=None)
    predicted = best.predicted_seconds if best else None
    return DecodeResult(
        weights_gb_s=found.weights_gb_s,
        kv_gb_s=found.kv_gb_s,
        tokens_per_second=best.tokens_per_second if best else None,
        mbu=best.mbu if best else None,
        predicted_tokens_per_second=best.batch / predicted if best and predicted else None,
    )
