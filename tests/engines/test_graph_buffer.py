"""llama.cpp's compute buffer against recorded dry runs of the real engine."""

from __future__ import annotations

from statistics import median

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog import find
from llmcalc.engines.cells import Slots
from llmcalc.engines.graph_buffer import Build, compute_buffer
from tests.engines.test_cells import ROWS
from tests.llamacpp_rows import MIB, compute_error

MISSED = {
    "lc363": "granite-4.0-h-micro, micro-batch 2,048: 280 MiB for the engine's 317",
    "lc454": "falcon-h1-34b, micro-batch 64, cache in blocks: 38.1 MiB for the engine's 41.3",
}
"""Rows beyond 2 %: a state-space layer's tensor misses a hole that ours finds. Not explained."""


@pytest.mark.parametrize("arch", sorted({row["arch"] for row in ROWS}))
def test_every_architecture_within_two_percent(arch: str) -> None:
    rows = [row for row in ROWS if row["arch"] == arch]
    errors = {row["row_id"]: compute_error(row) for row in rows}
    beyond = {name: error for name, error in errors.items() if abs(error) > 0.02}
    assert rows
    assert set(beyond) == {name for name in MISSED if name in errors}, beyond


def test_most_rows_are_exact() -> None:
    errors = [abs(compute_error(row)) for row in ROWS]
    assert median(errors) < 0.0005
    assert sum(error < 0.0005 for error in errors) / len(errors) > 0.9


def test_builds_that_kept_logits_of_a_whole_micro_batch() -> None:
    """Llama-3-8B, 8,192 tokens, no flash attention, CUDA: 560.00 MiB (2024 logs).

    Heads x cells x tokens x 4 are 512 MiB of it, mask and queries the rest.
    """
    build = Build(mixed_input=False, all_outputs=True, alignment=128)
    size = compute_buffer(
        lower(find.card("llama3-8b")), Slots(n_ctx=8192), flash=False, build=build
    )
    assert size / MIB == pytest.approx(560, rel=0.02)
