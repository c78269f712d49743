"""Public runs of reinforcement learning: what docs/rlhf.md says of each is what comes out."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path
from statistics import median

import pytest

from tests.api.rlhf_asked import GIB, run
from tests.published.rlhf_runs import HOURS, MEMORY, OUTCOMES, hours

TESTS = Path(__file__).parent.parent
PAGE = (TESTS.parent / "docs" / "rlhf.md").read_text(encoding="utf-8")


@cache
def _reported() -> dict[str, dict[str, str]]:
    with (TESTS / "data" / "rlhf.tsv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file, delimiter="\t")}


def _shown(row: str) -> list[str]:
    """The cells of a row of a table on the page."""
    (line,) = re.findall(rf"^\| {row} \|(.*)\|$", PAGE, flags=re.MULTILINE)
    return [cell.strip() for cell in str(line).split("|")]


def _hours(row: str) -> float:
    return float(re.findall(r"total ([0-9.]+) h", _reported()[row]["step_s"])[0])


@pytest.mark.parametrize("row", MEMORY)
def test_memory_of_a_row(row: str) -> None:
    _, reported, ours, error = _shown(row)
    predicted = run(**MEMORY[row]).totals["train"] / GIB
    measured = float(_reported()[row]["mem_gib_low"])
    assert float(reported) == pytest.approx(measured, abs=0.05)
    assert float(ours) == pytest.approx(predicted, rel=0.01)
    assert float(error.removesuffix(" %")) == pytest.approx(
        100 * (predicted / measured - 1), abs=1.5
    )


@pytest.mark.parametrize("row", OUTCOMES)
def test_outcome_of_a_row(row: str) -> None:
    _, reported, ours, _ = _shown(row)
    assert reported == {"OOM": "out of memory", "ok": "ran"}[_reported()[row]["outcome"]]
    assert (
        ours
        == {"fits": "fits", "tight": "tight", "no": "does not fit"}[
            run(**OUTCOMES[row]).verdict or ""
        ]
    )


@pytest.mark.parametrize("row", HOURS)
def test_hours_of_a_row(row: str) -> None:
    _, reported, ours, error = _shown(row)
    predicted = hours(*HOURS[row])
    assert float(reported) == _hours(row)
    if predicted is None:
        assert ours == "does not fit"
        return
    assert float(ours) == pytest.approx(predicted, rel=0.02)
    assert float(error.removesuffix(" %")) == pytest.approx(
        100 * (predicted / _hours(row) - 1), abs=2
    )


def test_the_median_error_of_time_is_the_one_shown() -> None:
    errors = [float(_shown(row)[3].removesuffix(" %")) for row in HOURS if "%" in _shown(row)[3]]
    assert f"median {median(errors):.0f} %" in PAGE


def test_every_row_is_scored_or_said_to_be_left_out() -> None:
    scored = {*MEMORY, *OUTCOMES, *HOURS}
    left = {row for row in _reported() if f"`{row}`" in PAGE}
    assert scored.isdisjoint(left)
    assert scored | left == set(_reported())
