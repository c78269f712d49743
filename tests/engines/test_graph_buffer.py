"""llama.cpp's compute buffer against recorded dry runs of the real engine."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from statistics import median

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog import find
from llmcalc.engines.cells import Slots
from llmcalc.engines.graph_buffer import GPU_BEFORE_2026, compute_buffer
from llmcalc.engines.graph_order import shortened
from tests.engines.test_cells import ROWS
from tests.llamacpp_rows import MIB, compute_error

MISSED = {
    ("granite-4.0-h-micro", "2048", "2048"): "280 MiB for the engine's 317",
    ("falcon-h1-34b", "131072", "64"): "38.1 MiB for the engine's 41.3",
}
"""Model, n_ctx and n_ubatch of what is more than 2 % off: where state-space layers follow each
other, one of their tensors misses a hole that ours finds. Not explained."""


def missed(row: Mapping[str, str]) -> bool:
    """Whether we know that a row is off."""
    return (row["model"], row["n_ctx"], row["n_ubatch"]) in MISSED


@pytest.mark.parametrize("arch", sorted({row["arch"] for row in ROWS}))
def test_every_architecture_within_two_percent(arch: str) -> None:
    rows = [row for row in ROWS if row["arch"] == arch]
    errors = {row["row_id"]: compute_error(row) for row in rows}
    beyond = {name: error for name, error in errors.items() if abs(error) > 0.02}
    assert rows
    assert set(beyond) == {row["row_id"] for row in rows if missed(row)}, beyond


def test_most_rows_are_exact() -> None:
    errors = [abs(compute_error(row)) for row in ROWS]
    assert median(errors) < 0.0005
    assert sum(error < 0.0005 for error in errors) / len(errors) > 0.9


@pytest.mark.parametrize(
    ("row", "card", "slots", "flash", "copies"),
    [
        ("l098", "llama3-8b", Slots(n_ctx=8192), False, 1),
        ("l102", "llama3-8b", Slots(n_ctx=8192), False, 4),
        ("l277", "qwen3-235b-a22b", Slots(n_ctx=32768), True, 1),
        ("l284", "qwen3-32b", Slots(n_ctx=8192, n_ubatch=1024), True, 1),
        ("l285", "llama3.1-8b", Slots(n_ctx=1024), False, 1),
    ],
)
def test_gpu_logs_that_others_published(
    row: str, card: str, slots: Slots, *, flash: bool, copies: int
) -> None:
    """The first device of CUDA logs of 2024 and 2025; a pipeline of devices copies its inputs.

    Rows of ik_llama.cpp with latent attention are another program's graph and not scored.
    """
    path = resources.files("llmcalc") / "measurements/llamacpp.tsv"
    logs = csv.DictReader(path.read_text(encoding="utf-8").splitlines(), delimiter="\t")
    logged = next(one for one in logs if one["row_id"] == row)["compute_bufs"]
    measured = float(logged.split(";")[0].removeprefix("CUDA0="))
    build = replace(GPU_BEFORE_2026, copies=copies)
    size = compute_buffer(lower(find.card(card)), slots, flash=flash, build=build)
    assert size / MIB == pytest.approx(measured, rel=0.02)


def test_more_repeats_of_a_pattern_change_nothing() -> None:
    """Five local layers to a global one, ten times, and what is left."""
    order = (*("local",) * 5, "global") * 10 + ("local",) * 2
    assert shortened(order) == (*("local",) * 3, "global") * 3 + ("local",) * 2
    assert shortened(("dense",) * 80) == ("dense",) * 3
    assert shortened(("a", "b", "a")) == ("a", "b", "a")
