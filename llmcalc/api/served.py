"""A model on its devices, ready to be timed: what `speed` and predictions of it ask."""

from __future__ import annotations

from dataclasses import dataclass, replace

from llmcalc.api.setup import Setup
from llmcalc.blueprint import lower
from llmcalc.catalog import measurement
from llmcalc.catalog.measured_gpu import VENDOR
from llmcalc.catalog.rates import efficiency
from llmcalc.engines.capacity import capacity
from llmcalc.engines.device import GB, Device, chosen, link, peak_compute
from llmcalc.engines.limits import largest_batch
from llmcalc.engines.measured import measured_device
from llmcalc.errors import InvalidFileError
from llmcalc.formula import quietly
from llmcalc.planner.fit import Planner
from llmcalc.planner.pace import Served
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec
from llmcalc.spec.quantization import Quantization
from llmcalc.spec.runtime import Runtime


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


def saturated(served: Served, load: Load, room: int | None) -> float | None:
    """Tokens of output a second of all replicas with memory full of sequences."""
    replicas = served.parallel.replicas
    most = (room or 0) // replicas
    limit = served.serving.settings.max_num_seqs
    batch = min(most, limit) if limit else most
    if not batch:
        return None
    return replicas * served.saturated(batch, load.prompt, load.output)
