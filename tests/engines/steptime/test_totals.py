"""What a run takes and costs, by hand."""

from __future__ import annotations

import pytest

from llmcalc.engines.steptime.totals import computed_tokens, steps, totals
from llmcalc.formula import recording


def test_padding_is_computed_like_tokens() -> None:
    """1,000 samples of 500 wanted tokens, three epochs, half of each row filled: 3 million."""
    assert computed_tokens(samples=1000, epochs=3, seq=500, packing=0.5) == 3_000_000


def test_the_last_step_may_be_short() -> None:
    assert steps(tokens=1001, step_tokens=100) == 11


def test_hours_money_and_energy() -> None:
    """100 steps of 36 s on 8 GPUs, 80 % of the time: 4,500 s, 10 GPU-hours."""
    found = totals(
        tokens=100_000, step_tokens=1000, step_seconds=36, gpus=8, goodput=0.8, price=3.0,
        watts=700, overhead=1.1,
    )  # fmt: skip
    assert found.seconds == pytest.approx(4500)
    assert found.steady_seconds == 3600
    assert found.gpu_hours == pytest.approx(10)
    assert found.cost == pytest.approx(30)
    assert found.energy_kwh == pytest.approx(7.7)


def test_no_price_no_cost() -> None:
    found = totals(tokens=1, step_tokens=1, step_seconds=1, gpus=1)
    assert found.cost is None
    assert found.energy_kwh is None


def test_what_comes_of_a_modelled_time_is_modelled() -> None:
    with recording() as made:
        totals(tokens=1000, step_tokens=1000, step_seconds=36, gpus=8, price=3.0, watts=700)
    bases = {step.name: step.basis for step in made}
    assert bases == {
        "steps": "exact", "run_seconds": "modelled", "gpu_hours": "modelled", "cost": "modelled",
        "energy_kwh": "modelled",
    }  # fmt: skip
