"""A measurement: what `llmcalc bench` found one machine to do, as it is saved for later questions.

Rates are decimal (10^9 bytes or 10^12 FLOP a second). A figure that could not be measured is left
out, and `refused` says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from llmcalc.spec.limits import Alias, Amount, Bool, Line, Name, Range, Word

Dtype = Literal["fp32", "bf16", "fp16", "int8", "fp8"]
Count = Annotated[int, Range(0, 10**18)]
Ranks = Annotated[int, Range(1, 10**6)]
Seconds = Annotated[float, Range(1e-12, 1e6)]
Share = Annotated[float, Range(0, 100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Seconds of one call: the median, and what nine calls in ten stay above and below."""

    seconds: Seconds
    seconds_p10: Seconds
    seconds_p90: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRate(Timed):
    """Memory swept once: a sum read, a copy, or a triad a = b + s · c."""

    operation: Literal["read", "copy", "triad"]
    bytes: Count
    """Of one array; a copy moves two, a triad three."""
    gb_s: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class MatmulRate(Timed):
    """m tokens times one weight of [n, k] that no cache holds."""

    m: Count
    n: Count
    k: Count
    dtype: Dtype
    """Of the weight; int8 is multiplied with bf16 inputs, fp8 with fp8."""
    kernel: Word
    """Of torch, as `linear`."""
    tflop_s: Amount
    gb_s: Amount
    """Bytes of the weight over the time: what a decode step is bound by at small m."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionRate(Timed):
    """One new token of each sequence attends to a cache of `context` tokens."""

    batch: Count
    context: Count
    heads: Count
    kv_heads: Count
    qk_dim: Count
    v_dim: Count
    dtype: Dtype
    kernel: Word
    """`sdpa`: torch's fused one; `grouped`: two plain products, which some CPUs do faster."""
    bytes: Count
    """Of the cache that is read."""
    gb_s: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRate(Timed):
    """A decode step of a model with random weights and a cache of `context` tokens."""

    model: Name
    layers: Count
    of_layers: Count
    """Of the whole model; fewer are run where they do not fit."""
    batch: Count
    context: Count
    dtype: Dtype
    kernel: Word
    graph: Bool
    """Whether one CUDA graph launches it; else operator by operator."""
    operators: Count
    """That a step calls, views left out."""
    weight_bytes: Count
    """That a step reads."""
    kv_bytes: Count
    """Of cache and state that a step reads."""
    tokens_per_second: Amount
    mbu: Share | None = None
    """Bytes read over the time, against the peak, or against the read bandwidth where no peak is
    known."""
    predicted_seconds: Seconds | None = None
    """From the rates above: weights, cache, and the launch of each operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveRate(Timed):
    """A collective over all ranks of a job."""

    operation: Literal["all_reduce", "all_gather", "all_to_all", "send_recv"]
    backend: Word
    ranks: Ranks
    bytes: Count
    """Of the whole message: in of all_reduce and all_to_all, out of all_gather, one way of
    send_recv."""
    algorithm_gb_s: Amount
    """Bytes over the time."""
    bus_gb_s: Amount
    """That times what each link carries of it, to be compared with the speed of a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A figure that is not reported, and why."""

    figure: Line
    reason: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """All that was measured on one device."""

    name: Name
    """Under which it was saved."""
    aliases: tuple[Alias, ...] = ()
    device: Line
    """As its driver calls it."""
    kind: Literal["cpu", "cuda", "xpu", "mps"]
    gpu: Name | None = None
    """The spec of the catalog that the device's name means."""
    date: Line
    host_cpu: Line
    versions: dict[Word, Line]
    """Of llmcalc, torch, python, the driver and the system."""
    clocks: dict[Word, Amount]
    """Where they can be read: core_mhz, sm_mhz, power_w."""
    threads: Count = 0
    """That torch computed with on the host."""
    memory_bytes: Count = 0
    cache_bytes: Count = 0
    """Of the last cache; buffers were several times as large."""
    peak_gb_s: Amount | None = None
    """Of the spec, not measured."""
    read_gb_s: Amount | None = None
    copy_gb_s: Amount | None = None
    triad_gb_s: Amount | None = None
    dtype: Dtype = "bf16"
    """In which weights_gb_s, kv_gb_s and the decode steps are."""
    weights_gb_s: Amount | None = None
    """All matrices of a layer and the head times one token, in order of their share."""
    dots_tflop_s: Amount | None = None
    """Of int8 weights that a cache holds, one token at a time: what engines that multiply row by
    row compute at, however many tokens there are, as ggml on a CPU."""
    kv_gb_s: Amount | None = None
    """At the longest context measured."""
    kv_kernel: Word | None = None
    launch_seconds: Seconds | None = None
    """One operator on one number: what no step goes below, operator by operator."""
    operator_seconds: Seconds | None = None
    """One operator of a decode step of a tiny model, with what Python does around it."""
    streams: tuple[StreamRate, ...] = ()
    matmuls: tuple[MatmulRate, ...] = ()
    attention: tuple[AttentionRate, ...] = ()
    steps: tuple[StepRate, ...] = ()
    collectives: tuple[CollectiveRate, ...] = ()
    refused: tuple[Refusal, ...] = ()
    disturbed: tuple[Refusal, ...] = ()
    """Figures that may be too low although their timings agree: others had the cores."""
