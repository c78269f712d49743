"""`flops`: phases, the rule of thumb and its error, limits."""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.api.flops import FlopsResult, flops
from llmcalc.catalog.find import card
from llmcalc.errors import ImpossibleError

N = 6_738_415_616


def _result(name: str = "llama2-7b", **asked: Any) -> FlopsResult:
    (found,) = flops(card(name), **asked).results
    assert isinstance(found, FlopsResult)
    return found


@pytest.mark.parametrize(("phase", "factor"), [("prefill", 2), ("train", 6)])
def test_the_rule_counts_active_parameters_and_its_error_is_told(phase: str, factor: int) -> None:
    found = _result(phase=phase, batch=4, attention="full")
    assert found.rule_of_thumb == factor * N * 8_192
    assert found.rule_error == pytest.approx(found.rule_of_thumb / found.total - 1)
    mixture = _result("mixtral-8x7b", phase=phase)
    assert mixture.rule_of_thumb == factor * 12_879_925_248 * 2_048


def test_parts_sum_to_the_total_and_per_token_divides_it() -> None:
    found = _result(batch=4, attention="full")
    assert found.matmul + found.attention + found.other == found.total == 117_046_448_750_592
    assert found.per_token == 117_046_448_750_592 // 8_192
    assert sum(found.by_component.values()) == found.matmul


def test_a_decode_step_is_one_token_a_sequence_over_its_context() -> None:
    found = _result(phase="decode", batch=3, context=1_000)
    assert found.tokens == 3
    assert found.matmul == 3 * 2 * (N - 32_000 * 4_096 - 65 * 4_096)
    assert found.attention == 3 * 4 * 32 * 32 * 128 * 1_000
    # Without --context the sequence is the context.
    assert _result(phase="decode", seq=1_000).attention * 3 == found.attention


def test_decoding_deepseek_attends_over_its_latent() -> None:
    """61 layers, 128 heads, 512 + 64 for scores and 512 for values; expanded: 192 and 128."""
    decode = _result("deepseek-v3", phase="decode", context=1_000)
    assert decode.attention == 61 * 2 * 128 * (576 + 512) * 1_000
    prefill = _result("deepseek-v3", seq=1, context=1_000)
    assert prefill.attention == 61 * 2 * 128 * (192 + 128) * 1_000
    assert prefill.matmul == decode.matmul


def test_a_chunk_sees_what_came_before_it() -> None:
    first, both = _result(seq=1_000), _result(seq=2_000)
    second = _result(seq=1_000, context=2_000)
    assert first.attention + second.attention == both.attention


@pytest.mark.parametrize(
    "asked",
    [
        {"batch": 0}, {"seq": 0}, {"context": 0}, {"seq": 10, "context": 9}, {"seq": 4_097},
        {"seq": 10, "context": 4_097}, {"phase": "train", "seq": 10, "context": 20},
    ],
)  # fmt: skip
def test_impossible_sizes_are_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(ImpossibleError) as raised:
        _result(**asked)
    assert raised.value.hint


def test_force_goes_over_the_limit() -> None:
    assert _result(seq=4_097, force=True).tokens == 4_097
