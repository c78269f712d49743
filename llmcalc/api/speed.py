"""`speed`: how fast prompts are read and tokens come, bound by what, at what cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from llmcalc.api import speed_tables as tables
from llmcalc.api.request import at_least_one, within_limit
from llmcalc.api.setup import Setup, shown
from llmcalc.blueprint import lower
from llmcalc.blueprint.operations import GroupedMatmul
from llmcalc.catalog import measurement
from llmcalc.catalog.accuracy import Band, bands
from llmcalc.catalog.measured_gpu import VENDOR
from llmcalc.catalog.rates import efficiency
from llmcalc.engines.capacity import capacity
from llmcalc.engines.device import GB, Device, chosen, link, peak_compute
from llmcalc.engines.limits import largest_batch
from llmcalc.engines.measured import measured_device
from llmcalc.engines.part import Basis
from llmcalc.engines.roofline import Bound, StepTime
from llmcalc.errors import InvalidFileError
from llmcalc.formula import quietly
from llmcalc.planner.fit import Planner
from llmcalc.planner.pace import Served
from llmcalc.report.model import Report
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec
from llmcalc.spec.quantization import Quantization
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
class Load:
    """What is asked for: sequences of so many tokens of prompt and of output."""

    batch: int = 1
    prompt: int = 1024
    output: int = 256

    @property
    def middle(self) -> int:
        """Tokens that a sequence sees when half of its output is there."""
        return self.prompt + -(-self.output // 2)


def speed(
    card: ModelCard,
    setup: Setup,
    gpu: GpuSpec,
    load: Load,
    *,
    host: GpuSpec | None = None,
    price: float | None = None,
    force: bool = False,
) -> Report:
    """Speed of `batch` sequences. Raises LlmcalcError for impossible sizes or an unknown rate."""
    at_least_one(batch=load.batch, prompt=load.prompt, output=load.output)
    within_limit(card, load.prompt + load.output, option="--prompt and --output", force=force)
    served, room = serve(card, setup, gpu, load, host=host)
    replicas = served.parallel.replicas
    own = -(-load.batch // replicas)
    with quietly():
        decode, prefill = served.decode(own, load.middle), served.prefill(own, load.prompt)
        points = _sweep(served, load, room, replicas)
        full = saturated(served, load, room)
    result = _result(card, setup, gpu, load, served, decode, prefill, points, full, room, price)
    return Report(
        command="speed", results=(result,), tables=tables.speed(result),
        assumptions=tuple(f"{name} {value}" for name, value in result.assumptions.items()),
        warnings=_warnings(result),
    )  # fmt: skip


def serve(
    card: ModelCard, setup: Setup, gpu: GpuSpec, load: Load, *, host: GpuSpec | None = None
) -> tuple[Served, int | None]:
    """The model on its devices, and the most sequences that their memory holds."""
    known = capacity(gpu).bytes if has_memory(gpu) else 0
    planner = Planner(lower(card), card.max_position_embeddings)
    ask = setup.ask(batch=load.batch, seq=load.prompt + load.output, capacity=known, gpu=gpu.name)
    with quietly():
        parallel = planner.split(ask)
        serving = planner.serving(ask)
        room = parallel.replicas * min(
            largest_batch(stage, serving, known, load.prompt + load.output)
            for stage in planner.stages(ask, parallel)
        ) if known else None  # fmt: skip
    ranks, runtime = parallel.tp * parallel.pp, setup.runtime
    alike = device(gpu, runtime, setup.weights, ranks)
    served = Served(
        ledger=planner.ledger, absorbed=lower(card, absorbed=True), format=setup.weights,
        kv=setup.kv, serving=serving, parallel=parallel, device=alike,
        full=replace(alike, reach=chosen(efficiency(runtime.full_load), gpu))
        if runtime.full_load and gpu.vendor != VENDOR else None,
        host=device(host, runtime, setup.weights, 1) if host else None,
    )  # fmt: skip
    return served, room


def has_memory(gpu: GpuSpec) -> bool:
    """Whether the spec says how much memory there is."""
    memory = gpu.memory
    return bool(memory.torch_gib or memory.reported_mib or memory.marketed_gb)


def device(gpu: GpuSpec, runtime: Runtime, format: Quantization, ranks: int) -> Device:
    """What the engine reaches on that GPU. Raises InvalidFileError where the spec has no rate."""
    if gpu.vendor == VENDOR and (found := measurement.find(gpu.name)):
        return measured_device(found, format.bits, operators=runtime.operators_per_layer)
    rate, compute = gpu.memory.bandwidth_gb_s, peak_compute(gpu, format.computed)
    if rate is None or compute is None:
        missing = "memory.bandwidth_gb_s" if rate is None else "compute.fp16"
        raise InvalidFileError(f"{gpu.name} has no {missing}", hint=f"give {missing} with a source")
    between, latency = link(gpu, ranks)
    return Device(
        name=gpu.name, bandwidth=rate * GB, compute=compute,
        reach=chosen(efficiency(runtime.efficiency), gpu), link=between, link_seconds=latency,
        watts=gpu.tdp_w,
    )  # fmt: skip


def _sweep(served: Served, load: Load, room: int | None, replicas: int) -> tuple[Point, ...]:
    """Decoding at doubled batches, as far as the memory reaches."""
    most = min(room or 256, 1024)
    points, batch = [], 1
    while batch <= most // replicas:
        step = served.decode(batch, load.middle)
        whole = batch * replicas
        points.append(
            Point(batch=whole, tpot_seconds=step.seconds, tokens_per_second=whole / step.seconds,
                  bound=step.bound)
        )  # fmt: skip
        batch *= 2
    return tuple(points)


def saturated(served: Served, load: Load, room: int | None) -> float | None:
    """Tokens of output a second of all replicas with memory full of sequences."""
    replicas = served.parallel.replicas
    most = (room or 0) // replicas
    limit = served.serving.settings.max_num_seqs
    batch = min(most, limit) if limit else most
    if not batch:
        return None
    return replicas * served.saturated(batch, load.prompt, load.output)


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


def _result(
    card: ModelCard,
    setup: Setup,
    gpu: GpuSpec,
    load: Load,
    served: Served,
    decode: StepTime,
    prefill: StepTime,
    points: tuple[Point, ...],
    full: float | None,
    room: int | None,
    price: float | None,
) -> SpeedResult:
    parallel, device = served.parallel, served.device
    gpus, replicas = parallel.gpus, parallel.replicas
    ranks = gpus // parallel.dp
    rate = load.batch / decode.seconds
    read = load.batch * load.prompt / prefill.seconds
    stages = parallel.pp if not served.serving.runtime.layers_over_devices else 1
    known = _band(setup.runtime, served) if gpu.vendor != VENDOR else None
    hourly = price * gpus / HOUR if price is not None else None
    watts = device.watts * gpus if device.watts else None
    return SpeedResult(
        model=card.name, gpu=gpu.name, gpus=gpus, batch=load.batch, prompt=load.prompt,
        output=load.output, ttft_seconds=prefill.seconds, tpot_seconds=decode.seconds,
        decode_tokens_per_second=rate, decode_tokens_per_second_per_user=1 / decode.seconds,
        decode_tokens_per_second_per_gpu=rate / gpus, prefill_tokens_per_second=read,
        saturated_tokens_per_second=full,
        bound=decode.bound, prefill_bound=prefill.bound,
        mbu=decode.bandwidth_floor * stages / decode.seconds,
        mfu=prefill.compute_floor / prefill.seconds,
        bandwidth_floor_seconds=decode.bandwidth_floor,
        compute_floor_seconds=decode.compute_floor,
        prefill_bandwidth_floor_seconds=prefill.bandwidth_floor,
        prefill_compute_floor_seconds=prefill.compute_floor,
        max_batch=room, sweep=points, knee=knee(points), price_per_gpu_hour=price,
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
    experts = any(
        isinstance(operation, GroupedMatmul)
        for section in served.ledger.sections
        for operation in section.operations
    )
    split = served.parallel
    way = "tensor ranks" if split.tp > 1 else "pipeline ranks" if split.pp > 1 else "one GPU"
    if runtime.layers_over_devices and split.pp > 1:
        way = "layers over GPUs"
    return bands().get((f"{engine}, {'MoE' if experts else 'dense'}, {way}", "decode_tok_s"))


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


def _warnings(result: SpeedResult) -> tuple[str, ...]:
    if result.max_batch is not None and result.batch > result.max_batch:
        return (f"the memory holds {result.max_batch:,} sequences of this length at once",)
    return ()
