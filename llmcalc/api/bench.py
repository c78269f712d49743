"""`bench`: what this machine really does, and how far a prediction from it is off."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from llmcalc.api import bench_tables
from llmcalc.api.bench_result import HOW, result
from llmcalc.api.extras import needs_torch
from llmcalc.bench.ranks import local_rank, rank
from llmcalc.catalog import measurement as saved
from llmcalc.catalog.find import card
from llmcalc.errors import UsageError
from llmcalc.report.model import Report
from llmcalc.spec.measurement import Measurement

if TYPE_CHECKING:
    from llmcalc.spec.card import ModelCard
    from llmcalc.spec.gpu import GpuSpec

Kind = Literal["cuda", "cpu", "xpu", "mps"]

DEFAULT_MODEL = "llama3-8b"
"""Whose shapes are measured where none is named: those of most models of 7 to 9 billion."""

SPIN = ("GOMP_SPINCOUNT", "20000")
"""Turns that a thread of GNU's OpenMP waits actively for the others, then it sleeps.

By default it holds its core for milliseconds, from a thread too that it waits for. Seen on two
cores beside a busy process, 8 MB of weights in bf16: 1.0 GB/s by default (each product a time slice
of 8 ms), 27 GB/s so; on quiet cores there is no difference.
"""


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
    number = _rank() if ask.collectives else 0
    name = _name(ask)
    shapes = None if ask.collectives else card(ask.model)
    listener = Listener() if number or listener is None else listener
    needs_torch("bench")
    listener.begins(f"loading torch to measure {'links' if ask.collectives else 'this machine'}")
    run = _bench()
    if ask.threads:
        run.threads(ask.threads)
    if shapes is None:
        found = _links(run, ask, listener, name)
    else:
        found = _measured(run, ask, shapes, listener, name)
    if number:
        return None
    path = saved.save(_kept(found, ask), force=True) if name else None
    return _report(found, shapes.name if shapes else None, path)


def _measured(
    run: ModuleType, ask: BenchAsk, shapes: ModelCard, listener: Listener, name: str | None
) -> Measurement:
    device = run.device(ask.device)
    spec = _spec(device.name) if device.kind != "cpu" else None
    found: Measurement = run.measured(
        device, shapes, listener, quick=ask.quick, name=name, gpu=spec.name if spec else None,
        peak=spec.memory.bandwidth_gb_s if spec else None,
    )  # fmt: skip
    return found


def _links(run: ModuleType, ask: BenchAsk, listener: Listener, name: str | None) -> Measurement:
    device = run.device(ask.device, local_rank())
    spec = _spec(device.name) if device.kind != "cpu" else None
    before = saved.find(name) if name else None
    if before and before.device != device.name and not ask.force:
        raise UsageError(
            f"{name!r} was measured on another device, {before.device}",
            hint="--save another name, or --force to replace it",
        )
    found: Measurement = run.between_ranks(
        device, listener, quick=ask.quick, name=name, gpu=spec.name if spec else None
    )
    return found


def _kept(found: Measurement, ask: BenchAsk) -> Measurement:
    """What is to be saved: collectives beside what is saved already of the same device."""
    before = saved.find(found.name) if ask.collectives else None
    if before is None or before.device != found.device:
        return found
    own = tuple(one for one in before.refused if not one.figure.startswith(_COLLECTIVE))
    return replace(before, collectives=found.collectives, refused=(*own, *found.refused))


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

    name = saved.free(ask.save, force=ask.force or ask.collectives)
    if ask.collectives:  # they are added to what is there, which must be readable
        saved.find(name)
    if GPUS.find(name):
        raise UsageError(
            f"{name!r} is a GPU of the catalog", hint=f"save it under another name, as my-{name}"
        )
    return name


def _bench() -> ModuleType:
    """The module that measures, with torch."""
    if "torch" not in sys.modules:
        os.environ.setdefault(*SPIN)
    from llmcalc.bench import run  # noqa: PLC0415  (torch: seconds)

    return run


def _rank() -> int:
    """This process among those of torchrun. Raises UsageError where it started none."""
    found = rank()
    if found is None:
        raise UsageError(
            "collectives need several ranks",
            hint="torchrun --nproc-per-node 2 -m llmcalc bench --collectives",
        )
    return found


def _report(found: Measurement, model: str | None, path: str | None) -> Report:
    return Report(
        command="bench",
        results=(result(found, model=model, path=path),),
        tables=bench_tables.tables(found),
        text=bench_tables.last_lines(found, path),
        assumptions=tuple(f"{name}: {what}" for name, what in HOW.items()),
        warnings=_warnings(found),
    )


def _warnings(found: Measurement) -> tuple[str, ...]:
    if not found.disturbed:
        return ()
    first, number = found.disturbed[0], len(found.disturbed)
    told = "1 figure" if number == 1 else f"{number} figures"
    return (f"{told} may be too low: {first.figure}: {first.reason}",)
