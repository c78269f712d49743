"""Runs of fine-tuning that people report: `fit` says yes where they ran, no where they did not."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

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


TABLES = "PEFT (prepare_model_for_kbit_training) widens both tables to float32"
LOGITS = "from 24 to 48 GB the length grows by 9,713 tokens: 17 bytes a logit, where we say 12"
MISSED = {
    "u48-70b": f"{TABLES}: 4.2 GB more",
    "u12-twice": f"{TABLES}: 2.1 GB more; {LOGITS}",
    "u16-twice": f"{TABLES}: 2.1 GB more; {LOGITS}",
}
"""What we say otherwise, and why."""


def _rows() -> list[dict[str, str]]:
    with DATA.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def _asked(row: dict[str, str]) -> Asked:
    """Of the configuration alone; what a row does not say is as usual."""
    numbers = {name: int(row[column]) for column, name in NUMBERS.items() if row[column]}
    names = {name: row[name] for name in NAMES if row[name]}
    targets = frozenset(row["targets"].split(",")) if row["targets"] else frozenset()
    return Asked(**numbers, **names, targets=targets)  # type: ignore[arg-type]


def _cases() -> list[Any]:
    marks = {name: [pytest.mark.xfail(strict=True, reason=why)] for name, why in MISSED.items()}
    return [pytest.param(row, id=row["id"], marks=marks.get(row["id"], [])) for row in _rows()]


@pytest.mark.parametrize("row", _cases())
def test_the_verdict_is_what_happened(row: dict[str, str]) -> None:
    (found,) = fits_training([card(row["model"])], _asked(row), gpu(row["gpu"])).results
    assert isinstance(found, TrainFitResult)
    assert found.verdict in {"ran": ("fits", "tight"), "oom": ("no",)}[row["outcome"]]
