"""What a run found, as a measurement that can be saved."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import torch

import llmcalc
from llmcalc.bench import host
from llmcalc.bench.device import Device
from llmcalc.bench.judge import Judge
from llmcalc.bench.measure import Bench
from llmcalc.bench.streams import headline
from llmcalc.spec.measurement import CollectiveRate, Measurement


def recorded(bench: Bench, name: str, gpu: str | None) -> Measurement:
    """All that a run on one device found."""
    best = bench.best_attention()
    return Measurement(
        **_machine(bench.device, bench.judge, name, gpu),
        peak_gb_s=bench.judge.peak,
        read_gb_s=headline(bench.streams, "read"),
        copy_gb_s=headline(bench.streams, "copy"),
        triad_gb_s=headline(bench.streams, "triad"),
        dtype=bench.dtype,
        weights_gb_s=bench.weights_gb_s(1),
        dots_tflop_s=bench.dots,
        kv_gb_s=best.gb_s if best else None,
        kv_kernel=best.kernel if best else None,
        launch_seconds=bench.launch,
        operator_seconds=bench.operator,
        streams=tuple(bench.streams),
        matmuls=tuple(bench.matmuls),
        attention=tuple(bench.attention),
        steps=tuple(bench.steps),
    )


def linked(
    rates: Sequence[CollectiveRate], device: Device, judge: Judge, name: str, gpu: str | None
) -> Measurement:
    """What collectives between ranks found."""
    return Measurement(**_machine(device, judge, name, gpu), collectives=tuple(rates))


def _machine(device: Device, judge: Judge, name: str, gpu: str | None) -> dict[str, Any]:
    return {
        "name": name,
        "device": device.name,
        "kind": device.kind,
        "gpu": gpu,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "host_cpu": host.processor(),
        "versions": _versions(device),
        "clocks": device.clocks,
        "threads": torch.get_num_threads(),
        "memory_bytes": device.memory,
        "cache_bytes": device.cache,
        "refused": tuple(judge.refused),
        "disturbed": tuple(judge.disturbed),
    }


def _versions(device: Device) -> dict[str, str]:
    told = {
        "llmcalc": llmcalc.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": host.system(),
        "cuda": torch.version.cuda,
        "rocm": torch.version.hip,
        "driver": device.driver,
    }
    return {name: str(version) for name, version in told.items() if version}
