"""Micro-batches in flight, counted on the schedules' own pictures."""

from __future__ import annotations

import pytest

from llmcalc.engines.train.flight import in_flight
from llmcalc.engines.train.plan import Schedule


@pytest.mark.parametrize(
    ("schedule", "stage", "v", "found"),
    [
        ("1f1b", 0, 1, 4),
        ("1f1b", 3, 1, 1),
        ("gpipe", 0, 1, 8),
        ("zb-h1", 0, 1, 4),
        ("zb-h2", 0, 1, 7),
        ("zb-h2", 3, 1, 1),
        ("dualpipe", 0, 1, 5),
        ("dualpipe", 3, 1, 5),
        # Megatron-LM warms up (v - 1) · p + 2 · (p - 1) = 10 pieces on the first of 4 stages, and
        # holds one more: 11 halves of a stage.
        ("interleaved", 0, 2, 5.5),
        ("interleaved", 3, 2, 2.5),
    ],
)
def test_four_stages_and_eight_micro_batches(
    schedule: Schedule, stage: int, v: int, found: float
) -> None:
    assert in_flight(schedule, p=4, stage=stage, v=v, m=8) == found


def test_there_are_never_more_than_there_are_micro_batches() -> None:
    assert in_flight("1f1b", p=8, stage=0, v=1, m=3) == 3
    assert in_flight("interleaved", p=8, stage=0, v=2, m=3) == 3
    assert in_flight("1f1b", p=1, stage=0, v=1, m=100) == 1
