"""Formulas of the bench, against hand calculations and their own texts."""

from __future__ import annotations

from fractions import Fraction

import pytest

from llmcalc.bench import rates
from llmcalc.bench.predict import predicted
from llmcalc.formula import recording
from tests.api.evaluate import evaluated


def test_by_hand() -> None:
    assert rates.gb_s(bytes=2**30, seconds=0.5) == pytest.approx(2.147483648)
    assert rates.tflop_s(m=512, n=14336, k=4096, seconds=0.06) == pytest.approx(1.0021589)
    # two ranks carry all of an all-reduce, eight 1.75 times it; of the others a half and 7/8
    assert rates.all_reduce_bus(algorithm=10.0, ranks=2) == 10
    assert rates.all_reduce_bus(algorithm=10.0, ranks=8) == 17.5
    assert rates.scattered_bus(algorithm=10.0, ranks=2) == 5
    assert rates.scattered_bus(algorithm=10.0, ranks=8) == 8.75
    used = rates.mbu(weight_bytes=1_900_000_000, kv_bytes=100_000_000, seconds=0.05, peak=50.0)
    assert used == pytest.approx(0.8)


STEP = {"weight_bytes": 3_000_000_000, "kv_bytes": 20_000_000, "operators": 1000}


def test_a_step_is_put_together_from_weights_cache_and_launches() -> None:
    assert predicted(**STEP, weights=30.0, kv=20.0, launch=2e-6) == pytest.approx(0.103)


@pytest.mark.parametrize("missing", ["weights", "kv", "launch"])
def test_without_a_rate_there_is_no_prediction(missing: str) -> None:
    known: dict[str, float | None] = {"weights": 30.0, "kv": 20.0, "launch": 2e-6}
    assert predicted(**STEP, **(known | {missing: None})) is None


def test_a_model_without_a_cache_needs_no_rate_of_it() -> None:
    asked = STEP | {"kv_bytes": 0}
    assert predicted(**asked, weights=30.0, kv=None, launch=2e-6) == pytest.approx(0.102)


def test_texts_say_what_is_computed() -> None:
    with recording() as steps:
        rates.gb_s(bytes=2**30, seconds=0.5)
        rates.tflop_s(m=2, n=3, k=4, seconds=0.25)
        rates.mbu(weight_bytes=8, kv_bytes=2, seconds=0.5, peak=0.25)
        rates.all_reduce_bus(algorithm=3.5, ranks=8)
        rates.scattered_bus(algorithm=3.5, ranks=8)
        predicted(**STEP, weights=30.0, kv=20.0, launch=0.5)
    assert len(steps) == 6
    for step in steps:
        assert float(evaluated(step.text, step.values)) == pytest.approx(step.result)
        assert isinstance(evaluated(step.text, step.values), Fraction)
