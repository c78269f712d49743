"""Failures, checkpoints and restarts, against published runs and hand calculation."""

from __future__ import annotations

from math import e, expm1, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.engines.goodput import (
    DEVICE_MTBF_HOURS,
    checkpoint_seconds,
    daly_interval,
    goodput,
    useful_share,
    young_interval,
)
from llmcalc.errors import ImpossibleError

LLAMA3_PARAMS = 405_853_388_800
STORAGE = 2e12
"""Bytes a second that Llama 3's storage sustains (arXiv:2407.21783, section 3.3.1)."""


def test_a_device_fails_every_five_years() -> None:
    """16,384 · 54 · 24 / 419 hours: one interruption of the job in 3.1 hours."""
    assert pytest.approx(50_677, abs=1) == DEVICE_MTBF_HOURS
    found = goodput(16_384, checkpoint_seconds=3)
    assert found.mtbf / 3600 == pytest.approx(54 * 24 / 419)
    assert found.failures_per_day == pytest.approx(419 / 54)


def test_llama_3_trained_more_than_nine_tenths_of_its_time() -> None:
    """Its paper says higher than 90 % (section 3.3.4): so do we, up to ten minutes a restart."""
    write = checkpoint_seconds(params=LLAMA3_PARAMS, bytes=14, rate=STORAGE)
    assert write == pytest.approx(2.84, abs=0.01)
    assert 0.90 < goodput(16_384, checkpoint_seconds=write).share < 0.95
    slow = goodput(16_384, checkpoint_seconds=write, restart_seconds=1800)
    assert slow.share < 0.90


def test_young_and_daly_by_hand() -> None:
    """δ = 2, M = 100: √400 = 20; 20 · (1 + 0.1/3 + 0.01/9) − 2."""
    assert young_interval(delta=2, M=100) == 20
    assert daly_interval(2, 100) == pytest.approx(20 * (1 + 0.1 / 3 + 0.01 / 9) - 2)
    assert daly_interval(300, 100) == 100


def test_daly_s_share_by_hand() -> None:
    """τ + δ = M and R = M: τ / (M · e · (e − 1))."""
    found = useful_share(interval=90, delta=10, restart=100, mtbf=100)
    assert found == pytest.approx(90 / (100 * e * expm1(1)))


@given(st.floats(0.1, 100), st.floats(0, 2000), st.integers(1, 100_000), st.floats(0.2, 5))
def test_no_other_interval_does_much_better(
    delta: float, restart: float, gpus: int, factor: float
) -> None:
    best = goodput(gpus, checkpoint_seconds=delta, restart_seconds=restart)
    other = goodput(
        gpus, checkpoint_seconds=delta, restart_seconds=restart, interval=factor * best.interval
    )
    assert other.share <= best.share * 1.001
    assert 0 <= best.share < 1


def test_a_hundred_thousand_gpus_fail_twice_an_hour() -> None:
    """M = 50,677 · 3,600 / 100,000 = 1,824 s; Young: √(2·10·M) = 191 s between checkpoints.

    Daly: 184 s, so 184 / (1,824 · e^(600/1824) · (e^(194/1824) − 1)), which is 0.65.
    """
    found = goodput(100_000, checkpoint_seconds=10)
    assert 3600 / found.mtbf == pytest.approx(1.97, abs=0.01)
    assert found.interval == pytest.approx(sqrt(2 * 10 * found.mtbf), rel=0.05)
    assert found.share == pytest.approx(184 / (1824 * 1.390 * 0.1122), rel=0.005)


@pytest.mark.parametrize("gpus", [0, 100_001])
def test_more_devices_than_failures_are_known_of_are_refused(gpus: int) -> None:
    with pytest.raises(ImpossibleError):
        goodput(gpus, checkpoint_seconds=10)


def test_a_job_that_fails_faster_than_it_saves_does_not_get_on() -> None:
    found = goodput(100_000, checkpoint_seconds=10, mtbf_hours=0.001)
    assert found.share == 0.0
