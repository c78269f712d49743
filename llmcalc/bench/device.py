"""The device that is measured, and what it says of itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import torch

from llmcalc.bench import host
from llmcalc.errors import ImpossibleError

KINDS = ("cuda", "xpu", "mps")
"""Accelerators that torch drives; ROCm's call themselves cuda."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device."""

    torch: torch.device
    name: str
    memory: int
    """Bytes in total; 0 where nothing tells."""
    free: int
    cache: int
    """Bytes of its last cache."""
    cache_assumed: bool = False
    driver: str | None = None
    clocks: dict[str, float] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """cpu, cuda, xpu or mps."""
        return str(self.torch.type)


def device(kind: str | None = None, index: int = 0) -> Device:
    """The device of a kind, or the best that there is. Raises ImpossibleError for one without."""
    have = [*_accelerators(), "cpu"]
    kind = kind or have[0]
    if kind not in have:
        raise ImpossibleError(
            f"torch {torch.__version__} finds no {kind} device here",
            hint=f"--device {have[0]} is there",
        )
    if kind == "cpu":
        return _cpu()
    return _cuda(index) if kind == "cuda" else _other(kind)


def _accelerators() -> Iterator[str]:
    for kind in KINDS:
        module = torch.backends.mps if kind == "mps" else getattr(torch, kind)
        if module.is_available():
            yield kind


def _cpu() -> Device:
    cache, mhz = host.last_cache(), host.clock_mhz()
    return Device(
        torch=torch.device("cpu"),
        name=host.processor(),
        memory=host.all_memory() or 0,
        free=host.free_memory() or 2**31,
        cache=cache or host.ASSUMED_CACHE,
        cache_assumed=cache is None,
        clocks={"core_mhz": mhz} if mhz else {},
    )


def _cuda(index: int) -> Device:
    found = torch.device("cuda", index)
    torch.cuda.set_device(found)
    told = torch.cuda.get_device_properties(found)
    free, total = torch.cuda.mem_get_info(found)
    return Device(
        torch=found,
        name=told.name,
        memory=total,
        free=free,
        cache=told.L2_cache_size or host.ASSUMED_CACHE,
        cache_assumed=not told.L2_cache_size,
        driver=_driver(),
        clocks=dict(_clocks(index)),
    )


def _driver() -> str | None:
    ask = getattr(torch._C, "_cuda_getDriverVersion", None)  # noqa: SLF001  its only name
    with suppress(RuntimeError):  # none on ROCm, and its own way of failing
        return str(ask()) if ask else None
    return None


def _clocks(index: int) -> Iterator[tuple[str, float]]:
    """What the driver tells through its own library, where that is installed."""
    asked = {"sm_mhz": torch.cuda.clock_rate, "power_w": torch.cuda.power_draw}
    for name, ask in asked.items():
        with suppress(Exception):  # pynvml is optional, and some drivers refuse
            value = float(ask(index))
            yield name, value / 1e3 if name == "power_w" else value


def _other(kind: str) -> Device:
    """Intel's and Apple's, which tell little; their memory may be the host's."""
    told = torch.xpu.get_device_properties(0) if kind == "xpu" else None
    total = told.total_memory if told else torch.mps.recommended_max_memory()
    return Device(
        torch=torch.device(kind),
        name=told.name if told else f"Apple {host.processor()}",
        memory=total,
        free=int(0.8 * total),
        cache=host.ASSUMED_CACHE,
        cache_assumed=True,
    )
