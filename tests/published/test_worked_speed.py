"""Worked examples f08 and f09: the two floors of a token of Llama-2-7B on an A100."""

from __future__ import annotations

import pytest

from llmcalc.api.served import Load
from llmcalc.api.setup import setup
from llmcalc.api.speed import speed
from llmcalc.api.speed_result import SpeedResult
from llmcalc.catalog.find import card, gpu

Worked = dict[str, dict[str, str]]
N, EMBEDDING = 6_738_415_616, 32_000 * 4096


@pytest.fixture(scope="module")
def token() -> SpeedResult:
    """A token after a prompt of one, in bf16."""
    load = Load(batch=1, prompt=1, output=1)
    (found,) = speed(card("llama2-7b"), setup(), gpu("a100-80"), load).results
    assert isinstance(found, SpeedResult)
    return found


def test_f08_the_compute_of_a_token_is_two_n_over_the_peak(
    worked: Worked, token: SpeedResult
) -> None:
    assert worked["f08"]["verdict"] == "right"
    floor = token.compute_floor_seconds
    # Of N the embedding is looked up and 65 norms of 4,096 are no product; attention over two
    # tokens is 4 · L · d · 2.
    by_hand = (2 * (N - EMBEDDING - 65 * 4096) + 4 * 32 * 4096 * 2) / 312e12
    assert floor == pytest.approx(by_hand, rel=1e-3)
    # The article has the whole N: 0.043 ms, 2 % more.
    article = float(worked["f08"]["article_value"].removesuffix(" ms")) / 1e3
    whole = 2 * N / 312e12
    assert whole == pytest.approx(article, abs=0.5e-6)
    assert floor == pytest.approx(article, rel=0.025)


def test_f09_the_weights_of_a_token_take_6_61_milliseconds(
    worked: Worked, token: SpeedResult
) -> None:
    assert worked["f09"]["value"] == "6.61 ms at 2039 GB/s"
    # By hand: 2 · N / 2,039 GB/s; the cache of two tokens adds 0.5 µs.
    by_hand = 2 * N / 2_039e9
    assert by_hand == pytest.approx(6.61e-3, abs=0.005e-3)
    assert token.bandwidth_floor_seconds == pytest.approx(6.61e-3, abs=0.005e-3)


def test_f09_a_token_takes_longer_than_its_floor(worked: Worked, token: SpeedResult) -> None:
    assert worked["f09"]["note"].startswith("bandwidth floor")
    assert token.bound == "memory"
    assert token.tpot_seconds > token.bandwidth_floor_seconds > 100 * token.compute_floor_seconds
