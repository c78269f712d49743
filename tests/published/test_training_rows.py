"""What training predictions must reach on public measurements, group by group."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from statistics import mean, median

import pytest

import llmcalc
from llmcalc.api.predict import predict
from llmcalc.checks.measured.reading import read
from llmcalc.checks.measured.score import Scored, scored
from llmcalc.checks.measured.statistics import quantile

DATA = Path(llmcalc.__file__).parent / "measurements"


@cache
def _rows() -> tuple[Scored, ...]:
    return tuple(scored(read(str(DATA / "training_memory.tsv")), predict))


def _errors(*starts: str) -> list[float]:
    found = [
        abs(one.error)
        for one in _rows()
        if one.metric == "mem" and one.error is not None and one.group.startswith(starts)
    ]
    assert found
    return found


@pytest.mark.parametrize(
    ("group", "n", "most"),
    [
        ("megatron-lm, pretrain dense", 31, 0.03),
        ("megatron-lm, pretrain experts", 12, 0.08),
        ("litgpt, lora", 37, 0.08),
        ("qwen finetune.py, lora", 42, 0.08),
        ("litgpt, qlora", 21, 0.12),
        ("qwen finetune.py, qlora", 24, 0.12),
        ("fsdp_qlora train.py, qlora", 16, 0.12),
    ],
)
def test_mean_error_of_a_group(group: str, n: int, most: float) -> None:
    found = _errors(group)
    assert len(found) >= n
    assert mean(found) <= most


def test_torchtune_at_the_median() -> None:
    """One of seven rows is no run of its own configuration, and scored all the same.

    LoRA of Llama-2-70B in 26 GB (me0056) is less than its shard of weights and the inputs of its
    layers together; it spoils the mean.
    """
    assert median(_errors("torchtune")) <= 0.10


def test_all_rows_together() -> None:
    found = _errors("")
    assert len(found) >= 200
    assert median(found) <= 0.06
    assert quantile(found, 0.9) <= 0.20


def _outcomes(rows: tuple[Scored, ...]) -> list[float]:
    return [one.error for one in rows if one.metric == "outcome" and one.error is not None]


def test_nine_in_ten_runs_that_failed_are_foreseen() -> None:
    found = _outcomes(tuple(scored(read(str(DATA / "training_oom.tsv")), predict)))
    assert len(found) >= 15
    assert found.count(0) / len(found) >= 0.9


def test_nineteen_in_twenty_runs_that_ran_are_foreseen() -> None:
    found = _outcomes(_rows())
    assert len(found) >= 200
    assert found.count(0) / len(found) >= 0.95
