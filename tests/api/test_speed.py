"""`speed`: floors that anyone can check, and what follows from them."""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.api.served import Load
from llmcalc.api.setup import setup
from llmcalc.api.speed import speed
from llmcalc.api.speed_result import Point, SpeedResult, knee
from llmcalc.catalog.find import card, gpu
from llmcalc.errors import ImpossibleError, InvalidFileError
from llmcalc.spec.settings import Settings


def _result(
    name: str, on: str, load: Load, asked: dict[str, Any] | None = None, **more: Any
) -> SpeedResult:
    report = speed(card(name), setup(**(asked or {})), gpu(on), load, **more)
    found = report.results[0]
    assert isinstance(found, SpeedResult)
    return found


def test_the_floor_of_llama2_70b_on_eight_a100() -> None:
    """137,953,296,384 B of weights and 4,096 · 327,680 B of cache over 8 · 2,039 GB/s: 117.1."""
    load = Load(batch=1, prompt=4_096, output=1)
    found = _result("llama2-70b", "a100-80", load, {"tp": 8}, force=True)
    floor = 1 / found.bandwidth_floor_seconds
    assert floor == pytest.approx(117.1, abs=0.05)
    assert found.decode_tokens_per_second_per_user < floor
    assert found.bound == "memory"


def test_weights_of_llama2_7b_take_6_6_milliseconds_on_an_a100() -> None:
    """Worked example f09: 13.48 GB at 2,039 GB/s are 6.61 ms; a token of cache adds 0.3 µs."""
    found = _result("llama2-7b", "a100-80", Load(batch=1, prompt=1, output=1))
    assert found.bandwidth_floor_seconds == pytest.approx(6.61e-3, abs=0.01e-3)


def test_rates_and_costs_follow_from_the_times() -> None:
    load = Load(batch=12, prompt=500, output=100)
    found = _result("llama3-8b", "h100", load, {"dp": 3}, price=2.0)
    assert found.decode_tokens_per_second == pytest.approx(12 / found.tpot_seconds)
    assert found.decode_tokens_per_second_per_gpu == pytest.approx(4 / found.tpot_seconds)
    assert found.prefill_tokens_per_second == pytest.approx(12 * 500 / found.ttft_seconds)
    dollars = 3 * 2.0 / 3_600
    assert found.cost_per_million_tokens == pytest.approx(
        1e6 * dollars / found.decode_tokens_per_second
    )
    assert found.joules_per_token == pytest.approx(3 * 700 / found.decode_tokens_per_second)
    one = _result("llama3-8b", "h100", Load(batch=4, prompt=500, output=100))
    assert one.tpot_seconds == pytest.approx(found.tpot_seconds)


def test_longer_contexts_and_larger_batches_take_longer() -> None:
    base = _result("llama3-8b", "h100", Load(batch=8, prompt=1_000, output=100))
    longer = _result("llama3-8b", "h100", Load(batch=8, prompt=4_000, output=100))
    larger = _result("llama3-8b", "h100", Load(batch=64, prompt=1_000, output=100))
    assert longer.tpot_seconds > base.tpot_seconds
    assert larger.tpot_seconds > base.tpot_seconds
    assert larger.decode_tokens_per_second > base.decode_tokens_per_second


def test_chunks_of_a_prompt_compute_what_the_whole_does() -> None:
    load = Load(batch=1, prompt=8_000, output=10)
    whole = {"engine": "transformers"}
    chunked = {"settings": Settings(max_num_batched_tokens=1_000)}
    one = _result("llama3.1-8b", "h100", load, whole)
    many = _result("llama3.1-8b", "h100", load, chunked)
    assert many.prefill_compute_floor_seconds == pytest.approx(
        one.prefill_compute_floor_seconds, rel=0.01
    )
    assert many.prefill_bandwidth_floor_seconds > 4 * one.prefill_bandwidth_floor_seconds


def test_a_prompt_is_bound_by_compute_and_a_token_by_memory() -> None:
    found = _result("llama3-8b", "h100", Load(batch=1, prompt=4_000, output=10))
    assert (found.prefill_bound, found.bound) == ("compute", "memory")


def test_layers_on_the_host_need_a_host() -> None:
    asked = {"engine": "llama.cpp", "weights": "q4_k_m", "settings": Settings(n_gpu_layers=20)}
    with pytest.raises(ImpossibleError, match="host"):
        _result("llama3-8b", "rtx-4090", Load(), asked)
    slow = _result("llama3-8b", "rtx-4090", Load(), asked, host=gpu("apple-m1"))
    fast = _result("llama3-8b", "rtx-4090", Load(), {"engine": "llama.cpp", "weights": "q4_k_m"})
    assert slow.tpot_seconds > 3 * fast.tpot_seconds


def test_a_gpu_without_a_rate_is_refused() -> None:
    with pytest.raises(InvalidFileError, match=r"memory\.bandwidth_gb_s|compute"):
        _result("llama3-8b", "cambricon-mlu290-m5", Load())


@pytest.mark.parametrize(
    ("rates", "expected"),
    [((100, 190, 350, 400), 4), ((100, 120), 1), ((100, 190, 370), None), ((100,), None),
     ((100, 120, 200, 210), 4)],
)  # fmt: skip
def test_the_knee_is_where_doubling_stops_to_pay(
    rates: tuple[int, ...], expected: int | None
) -> None:
    points = tuple(
        Point(batch=2**n, tpot_seconds=1.0, tokens_per_second=rate, bound="memory")
        for n, rate in enumerate(rates)
    )
    assert knee(points) == expected
