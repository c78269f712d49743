"""Every row of the worked examples is tested, or is about what the engines do not answer yet."""

from __future__ import annotations

from pathlib import Path

LATER = {
    "f06": "time of a training run", "f08": "compute time of a token",
    "f09": "bandwidth floor of a token", "t02": "activations of training",
    "t03": "activation checkpointing", "t05": "LoRA", "t07": "measured peak", "t08": "measured",
    "r01": "reinforcement learning", "r02": "reinforcement learning", "c01": "cost of a run",
    "c02": "cost of a run", "g01": "GPU specs", "g02": "GPU specs", "g03": "GPU specs",
    "g04": "GPU specs", "g05": "GPU specs", "g06": "measured throughput",
}  # fmt: skip


def test_every_worked_example_is_asserted_or_left_for_later(
    worked: dict[str, dict[str, str]],
) -> None:
    here = Path(__file__).parent
    texts = "".join(path.read_text(encoding="utf-8") for path in here.glob("test_worked_*.py"))
    tested = {row for row in worked if f'"{row}"' in texts}
    assert tested.isdisjoint(LATER)
    dimensions = {"d09"}  # asserted by its dimensions, the row has no value of its own
    assert tested | dimensions | set(LATER) == set(worked)
