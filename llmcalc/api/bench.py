"""`bench`: what this machine really does, and how far a prediction from it is off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from llmcalc.api import bench_tables
from llmcalc.catalog import measurement as saved
from llmcalc.catalog.find import card
from llmcalc.errors import MissingExtraError, UsageError
from llmcalc.report.model import Report
from llmcalc.spec.measurement import (
    AttentionRate,
    CollectiveRate,
    MatmulRate,
    Measurement,
    Refusal,
    StepRate,
    StreamRate,
)

if TYPE_CHECKING:
    from llmcalc.spec.card import ModelCard
    from llmcalc.spec.gpu import GpuSpec

Kind = Literal["cuda", "cpu", "xpu", "mps"]

DEFAULT_MODEL = "llama3-8b"
"""Whose shapes are measured where none is named: those of most models of 7 to 9 billion."""

HOW = {
    "figures": "medians; refused where (p90 - p10) / median is over 20 %, where the second half "
    "differs from the first by over 10 %, or over 1.05 of the spec's peak",
    "bandwidth": "bytes that must move over the time; STREAM's count, written lines fetched first "
    "are not counted",
    "data": "random numbers in buffers that together are at least 4 times the last cache",
    "weights": "random, layers cut to what fits; of experts those that a random choice visits",
    "mbu": "bytes of weights and cache over the time, against the spec's peak, or the read "
    "bandwidth where none is known",
    "predicted": "bytes over the rates measured here, plus the launch of each operator",
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


class Listener:
    """Hears how far the work is. This one says nothing."""

    def begins(self, what: str) -> None:
        """Before torch loads."""

    def measures(self, what: str) -> None:
        """Before each figure."""

    def ends(self) -> None:
        """After the last, or an interruption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchAsk:
    """What is to be measured."""

    device: Kind | None = None
    """None: the accelerator where there is one."""
    model: str = DEFAULT_MODEL
    quick: bool = False
    threads: int | None = None
    collectives: bool = False
    save: str | None = None
    force: bool = False


def bench(ask: BenchAsk, listener: Listener | None = None) -> Report | None:
    """Measure this machine; None on a rank whose answer the first rank gives.

    Raises UsageError for a name that is taken and for collectives without torchrun,
    MissingExtraError without torch, ImpossibleError without such a device.
    """
    name = _name(ask)
    shapes = None if ask.collectives else card(ask.model)
    listener = listener or Listener()
    listener.begins(f"loading torch to measure {'links' if shapes is None else 'this machine'}")
    run, rank = _bench(), 0
    if ask.collectives:
        rank = _rank(run)
    if ask.threads:
        run.threads(ask.threads)
    found = _found(run, ask, shapes, listener if not rank else Listener(), name)
    if rank:
        return None
    path = saved.save(found, force=True) if name else None
    return _report(found, ask.model if shapes else None, path)


def _found(
    run: ModuleType, ask: BenchAsk, shapes: ModelCard | None, listener: Listener, name: str | None
) -> Measurement:
    from llmcalc.bench.device import device as chosen  # noqa: PLC0415  (torch: seconds)

    device = chosen(ask.device, run.local_rank() if shapes is None else 0)
    spec = _spec(device.name) if device.kind != "cpu" else None
    told = {"quick": ask.quick, "name": name, "gpu": spec.name if spec else None}
    if shapes is None:
        links: Measurement = run.between_ranks(device, listener, **told)
        return _merged(links, saved.find(name) if name else None)
    peak = spec.memory.bandwidth_gb_s if spec else None
    found: Measurement = run.measured(device, shapes, listener, peak=peak, **told)
    return found


def _merged(links: Measurement, before: Measurement | None) -> Measurement:
    """What is saved already of the device, with new collectives."""
    if before is None or before.device != links.device:
        return links
    kept = tuple(one for one in before.refused if not one.figure.startswith(_COLLECTIVE))
    return replace(before, collectives=links.collectives, refused=(*kept, *links.refused))


_COLLECTIVE = ("all_", "send_recv")


def _spec(device: str) -> GpuSpec | None:
    """The GPU of the catalog that a driver's name means."""
    from llmcalc.checks.measured.gpu_names import gpu  # noqa: PLC0415  (start-up)

    return gpu(device)


def _name(ask: BenchAsk) -> str | None:
    """The name to save under, before minutes of work. Raises UsageError."""
    if ask.save is None:
        return None
    from llmcalc.catalog.gpu_shelf import GPUS  # noqa: PLC0415  (start-up)

    # collectives are added to what is there
    name = saved.free(ask.save, force=ask.force or ask.collectives)
    if GPUS.find(name):
        raise UsageError(
            f"{name!r} is a GPU of the catalog", hint=f"save it under another name, as my-{name}"
        )
    return name


def _bench() -> ModuleType:
    """The module that measures; it needs torch."""
    try:
        from llmcalc.bench import run  # noqa: PLC0415  (torch: seconds)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        raise MissingExtraError(
            "bench needs torch, which is not installed", hint="pip install 'llmcalc-proof[torch]'"
        ) from None
    return run


def _rank(run: ModuleType) -> int:
    rank: int | None = run.rank()
    if rank is None:
        raise UsageError(
            "collectives need several ranks",
            hint="torchrun --nproc-per-node 2 -m llmcalc bench --collectives",
        )
    return rank


def _report(found: Measurement, model: str | None, path: str | None) -> Report:
    result = _result(found, model, path)
    return Report(
        command="bench",
        results=(result,),
        tables=bench_tables.tables(found),
        text=bench_tables.last_lines(found, path),
        assumptions=tuple(f"{name}: {what}" for name, what in HOW.items()),
        warnings=tuple(f"{one.figure}: {one.reason}" for one in found.disturbed),
    )


def _result(found: Measurement, model: str | None, path: str | None) -> BenchResult:
    peak, read = found.peak_gb_s, found.read_gb_s
    return BenchResult(
        device=found.device, read_gb_s=read, copy_gb_s=found.copy_gb_s,
        triad_gb_s=found.triad_gb_s, peak_gb_s=peak,
        fraction_of_peak=read / peak if read and peak else None, decode=_decode(found),
        matmul=found.matmuls, launch_seconds=found.launch_seconds,
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
