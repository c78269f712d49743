"""Worked examples f06, c01 and c02: the time and the cost of a run."""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.api.plans import Asked, plan
from llmcalc.api.train import TrainResult, train
from llmcalc.api.train_time import Asked as Run
from llmcalc.catalog.find import card, gpu
from llmcalc.engines.steptime.model_flops import seconds_at, utilisation
from llmcalc.engines.steptime.totals import Totals, totals

Worked = dict[str, dict[str, str]]
A100 = 312e12
DAY, HOUR = 86_400, 3_600


def _trained(model: str, on: str, run: Run, **asked: Any) -> TrainResult:
    (found,) = train(card(model), plan(Asked(**asked)), gpu=gpu(on), asked=run).results
    assert isinstance(found, TrainResult)
    return found


def _whole(found: TrainResult) -> Totals:
    assert found.time
    assert found.time.totals
    return found.time.totals


def test_f06_flops_over_gpus_peak_and_mfu(worked: Worked) -> None:
    found = seconds_at(flops=8.04e22, gpus=1000, peak=A100, mfu=0.5)
    assert f"{found:.0f} s" == worked["f06"]["value"]


def test_f06_the_hours_that_meta_reports_are_an_mfu_of_39_percent(worked: Worked) -> None:
    assert worked["f06"]["note"].endswith("184320 A100 hours = 7.7 days on 1000: MFU 39 %")
    seconds = 184_320 * HOUR / 1000
    assert seconds / DAY == pytest.approx(7.7, abs=0.05)
    mfu = utilisation(flops=8.04e22, seconds=seconds, gpus=1000, peak=A100)
    assert mfu == pytest.approx(0.39, abs=0.005)


def test_f06_attention_takes_a_seventh_more_than_six_n(worked: Worked) -> None:
    run = Run(tokens=2 * 10**12, mfu=0.5)
    found = _trained(
        "llama2-7b", "a100-80", run, gpus=1000, global_batch=1000, seq=4096, shard="fsdp"
    )
    # By hand: 6 · (N - embedding - 65 norms) + 12 · L · d · s of a token, at half the peak.
    multiplied = 6_738_415_616 - 32_000 * 4096 - 65 * 4096
    flops = 6 * multiplied + 12 * 32 * 4096 * 4096
    by_hand = flops * 2e12 / (1000 * A100 * 0.5)
    assert _whole(found).steady_seconds == pytest.approx(by_hand, rel=1e-5)  # a short last step
    six_n = float(worked["f06"]["value"].removesuffix(" s"))
    assert by_hand / six_n == pytest.approx(8 / 7, rel=0.01)


def _mpt_on_256(run: Run) -> TrainResult:
    """How llm-foundry measured it: FSDP, 6 sequences of 2,048 on each GPU, nothing recomputed."""
    return _trained(
        "mpt-7b", "h100", run, gpus=256, micro_batch=6, global_batch=1536, seq=2048, shard="fsdp"
    )


def test_c01_days_follow_from_the_measured_mfu(worked: Worked) -> None:
    days = float(worked["c01"]["value"].split()[0])
    # Row th0011 of training_throughput.tsv: 10,119 tokens a second on each of 256, MFU 44.15 %.
    by_hand = 1.5e12 / (256 * 10_119) / DAY
    assert by_hand == pytest.approx(days, abs=0.05)
    found = _whole(_mpt_on_256(Run(tokens=1_500 * 10**9, mfu=0.4415)))
    assert found.steady_seconds / DAY == pytest.approx(days, rel=0.01)


def test_c01_days_from_defaults_are_a_third_of_the_articles_three_weeks(worked: Worked) -> None:
    assert worked["c01"]["verdict"] == "slow by 3x at steady rate"
    days = float(worked["c01"]["value"].split()[0])
    found = _whole(_mpt_on_256(Run(tokens=1_500 * 10**9)))
    assert found.steady_seconds / DAY == pytest.approx(days, rel=0.1)


def test_c02_two_weeks_of_eight_gpus_at_two_and_a_half_dollars(worked: Worked) -> None:
    found = totals(
        tokens=14 * DAY * 1000, step_tokens=1000, step_seconds=1.0, gpus=8, price=2.5
    )  # fmt: skip
    assert found.seconds == 14 * DAY
    assert found.gpu_hours == 2688
    assert found.cost == float(worked["c02"]["value"]) == 6720


def test_c02_a_run_costs_its_hours_times_the_price(worked: Worked) -> None:
    assert worked["c02"]["inputs"].endswith("at $2.5")
    found = _trained("llama2-7b", "h100", Run(tokens=10**9, price=2.5), gpus=8, shard="fsdp")
    assert found.total_seconds
    assert found.gpu_hours == pytest.approx(8 * found.total_seconds / HOUR)
    assert found.cost == pytest.approx(2.5 * 8 * found.total_seconds / HOUR)
