"""The two things that can be asked of the bench: what a device does, and what links do."""

from __future__ import annotations

import torch

from llmcalc.bench.collectives import collectives
from llmcalc.bench.device import Device, device
from llmcalc.bench.effort import QUICK_LINKS, THOROUGH_LINKS
from llmcalc.bench.judge import Judge
from llmcalc.bench.listener import Listener
from llmcalc.bench.measure import Bench
from llmcalc.bench.plan import QUICKLY, THOROUGHLY
from llmcalc.bench.record import linked, recorded
from llmcalc.spec.card import ModelCard
from llmcalc.spec.measurement import Measurement

__all__ = ["between_ranks", "device", "measured", "threads"]

UNSAVED = "unsaved"


def measured(
    on: Device,
    card: ModelCard,
    listener: Listener,
    *,
    quick: bool = False,
    name: str | None = None,
    gpu: str | None = None,
    peak: float | None = None,
) -> Measurement:
    """Everything that one device can show alone; `peak` in GB/s is that of its spec."""
    bench = Bench(on, card, QUICKLY if quick else THOROUGHLY, peak, listener)
    with torch.inference_mode():
        bench.all()
    return recorded(bench, name or UNSAVED, gpu)


def between_ranks(
    on: Device,
    listener: Listener,
    *,
    quick: bool = False,
    name: str | None = None,
    gpu: str | None = None,
) -> Measurement:
    """Collectives between the ranks of torchrun. Each rank calls it."""
    judge = Judge(on, QUICK_LINKS if quick else THOROUGH_LINKS)
    try:
        rates = collectives(judge, listener.measures, quick=quick)
    finally:
        listener.ends()
    return linked(rates, on, judge, name or UNSAVED, gpu)


def threads(number: int) -> None:
    """Let torch compute with so many threads on the host."""
    torch.set_num_threads(number)
