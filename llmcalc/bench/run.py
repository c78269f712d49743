"""The two things that can be asked of the bench: what a device does, and what links do."""

from __future__ import annotations

import os

import torch

from llmcalc.bench.collectives import collectives
from llmcalc.bench.device import Device
from llmcalc.bench.effort import QUICK, THOROUGH
from llmcalc.bench.judge import Judge
from llmcalc.bench.listener import Listener
from llmcalc.bench.measure import Bench
from llmcalc.bench.plan import QUICKLY, THOROUGHLY
from llmcalc.bench.record import linked, recorded
from llmcalc.spec.card import ModelCard
from llmcalc.spec.measurement import Measurement

UNSAVED = "unsaved"


def measured(
    device: Device,
    card: ModelCard,
    listener: Listener,
    *,
    quick: bool = False,
    name: str | None = None,
    gpu: str | None = None,
    peak: float | None = None,
) -> Measurement:
    """Everything that one device can show alone; `peak` in GB/s is that of its spec."""
    bench = Bench(device, card, QUICKLY if quick else THOROUGHLY, peak, listener)
    with torch.inference_mode():
        bench.all()
    return recorded(bench, name or UNSAVED, gpu)


def between_ranks(
    device: Device,
    listener: Listener,
    *,
    quick: bool = False,
    name: str | None = None,
    gpu: str | None = None,
) -> Measurement:
    """Collectives between the ranks of torchrun. Each rank calls it."""
    judge = Judge(device, QUICK if quick else THOROUGH)
    try:
        rates = collectives(judge, listener.measures, quick=quick)
    finally:
        listener.ends()
    return linked(rates, device, judge, name or UNSAVED, gpu)


def rank() -> int | None:
    """This process among those that torchrun started; None where it started none."""
    told = os.environ.get("RANK", "")
    return int(told) if told.isdecimal() and "MASTER_ADDR" in os.environ else None


def local_rank() -> int:
    """This process among those on its host, and the device that it takes."""
    told = os.environ.get("LOCAL_RANK", "")
    return int(told) if told.isdecimal() else 0


def threads(number: int) -> None:
    """Let torch compute with so many threads on the host."""
    torch.set_num_threads(number)
