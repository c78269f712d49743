"""Recorded samples, and what is said of them."""

from __future__ import annotations

import pytest

from llmcalc.bench.samples import Samples, best, beyond, disturbance, doubt

CALM = Samples((0.00380, 0.00385, 0.00376, 0.00379, 0.00391, 0.00384, 0.00378))
"""Seconds of a matrix of 117 MB times one token, on two quiet cores."""
SLICED = Samples((0.00800, 0.00797, 0.00800, 0.00804, 0.00799, 0.00800, 0.00801), 71.0)
"""The same beside a busy process: both threads had one core, in slices of 8 ms."""
TORN = Samples((0.0058, 0.0031, 0.0080, 0.0035, 0.0058, 0.0081, 0.0031))
WARMING = Samples((0.0100, 0.0100, 0.0099, 0.0093, 0.0088, 0.0086, 0.0087, 0.0086))
"""Within a spread of 16 %, but the halves' medians are 9.95 and 8.65 ms."""


def test_quantiles_are_those_of_the_textbook() -> None:
    found = Samples(tuple(float(one) for one in range(1, 12)))
    assert (found.median, found.p10, found.p90) == (6, 2, 10)
    assert found.spread == pytest.approx(8 / 6)
    assert found.drift == pytest.approx(9 / 3 - 1)


def test_calm_samples_are_a_figure() -> None:
    assert doubt(CALM) is None
    assert disturbance(CALM) is None
    assert CALM.median == 0.00380


def test_a_wide_spread_is_none() -> None:
    assert doubt(TORN) == f"spread {TORN.spread:.0%} is over 20%"


def test_a_state_that_still_changes_is_none() -> None:
    assert WARMING.spread < 0.20
    assert doubt(WARMING) == "not steady: second half -13% against the first"


@pytest.mark.parametrize(("slow", "trusted"), [(1.09, True), (1.11, False)])
def test_a_fifth_of_the_median_is_the_limit(slow: float, *, trusted: bool) -> None:
    # by hand: of eleven samples the deciles are the second and the tenth, 0.9 and `slow`
    found = Samples((1.0, 0.9, slow, 1.0, 0.9, 1.0, slow, 1.0, 1.0, 1.0, 1.0))
    assert (found.p10, found.p90) == (0.9, slow)
    assert (doubt(found) is None) is trusted


def test_few_samples_are_none() -> None:
    assert doubt(Samples((0.5, 0.5, 0.5, 0.5))) == "4 samples are too few to tell a spread"
    assert doubt(Samples((0.5,))) is not None


def test_a_clock_that_stands_still_is_none() -> None:
    assert doubt(Samples((0.0,) * 9)) == "the clock cannot tell so short a time"


def test_others_on_the_cores_are_told_although_the_samples_agree() -> None:
    assert doubt(SLICED) is None
    assert "71 times a second, over 50" in str(disturbance(SLICED))


@pytest.mark.parametrize(
    ("attempts", "wanted"),
    [
        ([TORN, CALM], CALM),
        ([SLICED, CALM], CALM),
        ([TORN, SLICED], SLICED),
        ([SLICED, Samples(SLICED.seconds, 60.0)], Samples(SLICED.seconds, 60.0)),
        ([TORN], TORN),
    ],
)
def test_the_best_attempt_says_most(attempts: list[Samples], wanted: Samples) -> None:
    assert best(attempts) == wanted


def test_a_rate_above_the_peak_is_refused() -> None:
    assert beyond(3517.5, 3350, "GB/s") is None
    assert beyond(3518, 3350, "GB/s") == "3518 GB/s is over 1.05 of the peak, 3350"
    assert beyond(1e9, None, "GB/s") is None
