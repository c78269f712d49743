"""Fit what training frameworks take beyond live tensors on public measurements.

Usage: python tools/fit_training.py

Prints what stands in llmcalc/frameworks/*.yaml as `context` and `reserve`, with the rows it comes
from and their residuals; tests/test_fits.py compares the two. Live tensors are modelled without any
fitted constant, so what is left of a measured number is the constant of its framework:

- reserve: what torch's allocator reserved over the modelled live tensors, as a share (median);
- context: what the driver showed over reserved memory (median of the rows).
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from llmcalc.api.predict_training import answer
from llmcalc.checks.measured.metric import step_gib
from llmcalc.checks.measured.reading import read
from llmcalc.checks.measured.training import TrainingCase, training
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.errors import LlmcalcError

DATA = pathlib.Path(__file__).parents[1] / "llmcalc" / "measurements" / "training_memory.tsv"
GIB = 2**30
USUAL = 0.05
"""Reserve of a framework whose rows do not tell it: what public notes on fragmentation say."""
SHORT = 1024
"""Tokens up to which rows tell of the context, and little of activations."""


@dataclass(frozen=True)
class Measured:
    """One row: bytes of live tensors as modelled, and bytes as measured."""

    row: str
    framework: str
    live: int
    measured: float


def rows(kind: str) -> Iterator[Measured]:
    """Rows of one kind of memory whose configuration is known."""
    for row in read(str(DATA)):
        try:
            case = training(row.config)
            size = step_gib({**row.config, **row.measured})
        except Unusable:
            continue
        if case.memory != kind or case.missing or size is None:
            continue
        if kind == "device" and not _short(case):
            continue
        try:
            live = answer(case).per_gpu.allocated
        except LlmcalcError:
            continue
        yield Measured(row.id, case.framework, live, size * GIB)


def _short(case: TrainingCase) -> bool:
    return case.gpus == 1 and case.seq <= SHORT and case.method == "lora" and not case.trained


def reserve(framework: str) -> tuple[float, int]:
    """The share that the allocator holds beyond live tensors, and on how many rows."""
    found = [one.measured / one.live - 1 for one in rows("reserved") if one.framework == framework]
    return round(median(found), 3), len(found)


def context(framework: str) -> tuple[int, int]:
    """Bytes beyond reserved memory, to whole MiB, and on how many rows."""
    found = [
        one.measured - one.live * (1 + USUAL)
        for one in rows("device")
        if one.framework == framework
    ]
    return round(median(found) / 2**20) * 2**20, len(found)


def main() -> None:
    """Print the constants."""
    for name in ("fsdp-qlora", "torchtune"):
        share, n = reserve(name)
        print(f"{name} reserve: {share} (n = {n})")
    size, n = context("qwen")
    print(f"qwen context: {size} ({size / GIB:.2f} GiB, n = {n})")
    for one in rows("reserved"):
        print(f"  {one.row} {one.framework} {one.measured / one.live - 1:+.3f}")


if __name__ == "__main__":
    main()
