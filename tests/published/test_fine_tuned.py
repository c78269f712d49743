"""Runs of fine-tuning that people report: `fit` says yes where they ran, no where they did not."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from llmcalc.api.fit_train import fits_training
from llmcalc.api.fit_train_result import TrainFitResult
from llmcalc.api.plans import Asked
from llmcalc.catalog.find import card, gpu

DATA = Path(__file__).parents[1] / "data" / "fine_tuning.tsv"
NUMBERS = {"gpus": "gpus", "batch": "micro_batch", "seq": "seq", "rank": "rank"}
NAMES = (
    "method", "framework", "precision", "optimizer", "weights", "shard", "loss", "recompute",
    "offload",
)  # fmt: skip


def _rows() -> list[dict[str, str]]:
    with DATA.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def _asked(row: dict[str, str]) -> Asked:
    """Of the configuration alone; what a row does not say is as usual."""
    numbers = {name: int(row[column]) for column, name in NUMBERS.items() if row[column]}
    names = {name: row[name] for name in NAMES if row[name]}
    targets = frozenset(row["targets"].split(",")) if row["targets"] else frozenset()
    return Asked(**numbers, **names, targets=targets)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row["id"])
def test_the_verdict_is_what_happened(row: dict[str, str]) -> None:
    (found,) = fits_training([card(row["model"])], _asked(row), gpu(row["gpu"])).results
    assert isinstance(found, TrainFitResult)
    assert found.verdict in {"ran": ("fits", "tight"), "oom": ("no",)}[row["outcome"]]
