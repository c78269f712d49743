"""What `speed` answers: rates, floors and costs from the times of a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from llmcalc.api.served import Load
from llmcalc.api.setup import Setup, shown
from llmcalc.catalog.accuracy import Band, bands
from llmcalc.catalog.measured_gpu import VENDOR
from llmcalc.engines.part import Basis
from llmcalc.engines.roofline import Bound, StepTime
from llmcalc.planner.pace import Served
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec
from llmcalc.spec.runtime import Runtime

HOUR = 3600
MILLION = 10**6
WORTH = 1.5
"""What twice the sequences must bring, in tokens a second, to be worth their latency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Decoding at one batch."""

    batch: int
    tpot_seconds: float
    tokens_per_second: float
    """All sequences and GPUs together."""
    bound: Bound


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedResult:
    """Prefill and decode of one model; seconds, and tokens a second of all replicas together."""

    model: str
    gpu: str
    gpus: int
    batch: int
    prompt: int
    output: int
    ttft_seconds: float
    """Until the prompts of all sequences of a replica are read, and their first tokens there."""
    tpot_seconds: float
    """Of one token of each sequence, at the middle of the output."""
    decode_tokens_per_second: float
    decode_tokens_per_second_per_user: float
    decode_tokens_per_second_per_gpu: float
    prefill_tokens_per_second: float
    saturated_tokens_per_second: float | None
    """Of output, where prompts come as fast as outputs end and memory is full of sequences; null
    where the memory is not known or too small."""
    bound: Bound
    """What most of the time of decoding goes to."""
    prefill_bound: Bound
    mbu: float
    """Bytes that decoding must read, over what the bandwidth would carry in its time."""
    mfu: float
    """FLOPs of the prefill, over what the matrix units would do in its time."""
    bandwidth_floor_seconds: float
    """Of a token: every weight on the devices and the cache, once, at the peak bandwidth."""
    compute_floor_seconds: float
    prefill_bandwidth_floor_seconds: float
    prefill_compute_floor_seconds: float
    max_batch: int | None
    """Sequences of prompt and output that the memory holds; null where the GPU's is not known."""
    sweep: tuple[Point, ...]
    knee: int | None
    """The batch behind which twice the sequences never bring half more tokens; null: memory ends it
    first."""
    price_per_gpu_hour: float | None
    cost_per_million_tokens: float | None
    """Of output, in the price's currency; input apart."""
    cost_per_million_input_tokens: float | None
    joules_per_token: float | None
    """Of output, at the devices' rated power: an upper bound."""
    basis: Basis
    error_p50: float | None
    error_p90: float | None
    assumptions: Mapping[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """The times that a result is made of."""

    decode: StepTime
    prefill: StepTime
    sweep: tuple[Point, ...]
    full: float | None
    """Tokens of output a second with memory full of sequences."""
    room: int | None
    """Sequences that the memory holds."""


def knee(points: tuple[Point, ...]) -> int | None:
    """The batch behind which doubling it never brings half more tokens; None: memory ends first."""
    gains = [
        (one.batch, other.tokens_per_second / one.tokens_per_second)
        for one, other in pairwise(points)
    ]
    behind = [batch for batch, gain in gains if gain >= WORTH]
    if not gains or gains[-1][1] >= WORTH:
        return None
    return 2 * behind[-1] if behind else points[0].batch


def result(
    card: ModelCard,
    setup: Setup,
    gpu: GpuSpec,
    load: Load,
    served: Served,
    timed: Timed,
    price: float | None,
) -> SpeedResult:
    """Rates, floors, shares of the peaks and costs."""
    parallel, device = served.parallel, served.device
    gpus, replicas = parallel.gpus, parallel.replicas
    ranks = gpus // parallel.dp
    rate = load.batch / timed.decode.seconds
    read = load.batch * load.prompt / timed.prefill.seconds
    stages = parallel.pp if not served.serving.runtime.layers_over_devices else 1
    known = _band(setup.runtime, served) if gpu.vendor != VENDOR else None
    hourly = price * gpus / HOUR if price is not None else None
    watts = device.watts * gpus if device.watts else None
    return SpeedResult(
        model=card.name, gpu=gpu.name, gpus=gpus, batch=load.batch, prompt=load.prompt,
        output=load.output, ttft_seconds=timed.prefill.seconds, tpot_seconds=timed.decode.seconds,
        decode_tokens_per_second=rate, decode_tokens_per_second_per_user=1 / timed.decode.seconds,
        decode_tokens_per_second_per_gpu=rate / gpus, prefill_tokens_per_second=read,
        saturated_tokens_per_second=timed.full,
        bound=timed.decode.bound, prefill_bound=timed.prefill.bound,
        mbu=timed.decode.bandwidth_floor * stages / timed.decode.seconds,
        mfu=timed.prefill.compute_floor / timed.prefill.seconds,
        bandwidth_floor_seconds=timed.decode.bandwidth_floor,
        compute_floor_seconds=timed.decode.compute_floor,
        prefill_bandwidth_floor_seconds=timed.prefill.bandwidth_floor,
        prefill_compute_floor_seconds=timed.prefill.compute_floor,
        max_batch=timed.room, sweep=timed.sweep, knee=knee(timed.sweep), price_per_gpu_hour=price,
        cost_per_million_tokens=None if hourly is None else hourly / rate * MILLION,
        cost_per_million_input_tokens=None if hourly is None else hourly / read * MILLION,
        joules_per_token=None if watts is None else watts / rate,
        basis="modelled", error_p50=known.p50 if known else None,
        error_p90=known.p90 if known else None,
        assumptions=_assumptions(setup, served, load, ranks * replicas),
    )  # fmt: skip


def _band(runtime: Runtime, served: Served) -> Band | None:
    """How far decoding was off on public rows of this engine, kind of model and split."""
    engine = "llama.cpp" if runtime.name.startswith("llama.cpp") else runtime.name
    kind = "MoE" if served.ledger.has_experts else "dense"
    split = served.parallel
    way = "tensor ranks" if split.tp > 1 else "pipeline ranks" if split.pp > 1 else "one GPU"
    if runtime.layers_over_devices and split.pp > 1:
        way = "layers over GPUs"
    return bands().get((f"{engine}, {kind}, {way}", "decode_tok_s"))


def _assumptions(setup: Setup, served: Served, load: Load, gpus: int) -> dict[str, str | int]:
    reach = served.device.reach
    named: dict[str, str | int] = {
        "batch": load.batch,
        "prompt": load.prompt,
        "output": load.output,
        **setup.assumptions,
    }
    if gpus > 1:
        named["split"] = shown(served.parallel)
    named["reached of the bandwidth"] = f"{reach.weights:g}, {reach.cache:g} by attention"
    named["reached of the compute"] = f"{reach.compute:g}"
    named["each layer"] = f"{reach.layer_seconds * 1e6:.3g} µs"
    named["efficiency"] = "fitted on public rows" if reach.fitted else "not fitted on decode rows"
    return named
