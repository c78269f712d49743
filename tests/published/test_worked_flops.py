"""Worked examples f01 to f09 and what torch's counter says of Llama-2-7B."""

from __future__ import annotations

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.find import card
from llmcalc.engines import flops
from llmcalc.engines.params import count
from llmcalc.engines.workload import Workload

Worked = dict[str, dict[str, str]]

L, H, D_K, D, N = 32, 32, 128, 4_096, 6_738_415_616
"""Llama-2-7B."""


def _counted(batch: int, seq: int, phase: str = "prefill", mask: str = "causal") -> flops.Flops:
    query = 1 if phase == "decode" else seq
    workload = Workload(phase=phase, batch=batch, query=query, context=seq)  # type: ignore[arg-type]
    return flops.count(lower(card("llama2-7b")), workload, mask)  # type: ignore[arg-type]


def test_f01_a_matmul_is_two_mkn(worked: Worked) -> None:
    assert worked["f01"]["value"] == "2MKN"
    assert flops.matmul_flops(t=3, d_in=5, d_out=7, layers=1) == 210


def test_f02_the_linear_part_is_two_n_without_embedding_and_norms(worked: Worked) -> None:
    assert worked["f02"]["note"] == "N without the input embedding is exact"
    norms, embedding = 65 * D, 32_000 * D
    assert _counted(4, 2_048).matmul == 2 * 8_192 * (N - embedding - norms) == 108_250_355_728_384


def test_f03_attention_is_twice_the_article_in_full_and_the_article_when_causal(
    worked: Worked,
) -> None:
    s = 4_096
    assert worked["f03"]["value"] == "4*L*h*s^2*dk full, 2*L*h*s*(s+1)*dk causal"
    assert _counted(1, s, mask="full").attention == 4 * L * H * s**2 * D_K
    assert _counted(1, s).attention == 2 * L * H * s * (s + 1) * D_K


def test_f04_f05_six_n_t(worked: Worked) -> None:
    assert worked["f04"]["verdict"] == "right as a rule"
    tokens = 2 * 10**12
    rule = flops.rule_of_thumb(factor=6, N=N, tokens=tokens)
    assert f"{rule:.3e}".replace("e+", "e") == worked["f05"]["value"].split()[0] == "8.086e22"


def test_f07_a_decoded_token_of_llama2_7b_is_13_gflop(worked: Worked) -> None:
    assert (worked["f07"]["article_value"], worked["f07"]["verdict"]) == ("13.4 GFLOP", "right")
    found = _counted(1, 1, "decode")
    by_hand = 2 * (N - 32_000 * D - 65 * D) + 4 * L * H * D_K
    assert found.total == by_hand
    assert found.total / 1e9 == pytest.approx(13.4, rel=0.02)


def test_torch_counts_llama2_7b_forward_at_4_by_2048() -> None:
    found = _counted(4, 2_048, mask="full")
    assert found.matmul == 108_250_355_728_384
    assert found.total == 117_046_448_750_592


def test_torch_counts_llama2_7b_forward_and_backward_at_4_by_2048() -> None:
    found = _counted(4, 2_048, "train", "full")
    assert found.total == 355_537_392_762_880
    # Flash attention's backward is 2.5 times its forward; the model needs only twice.
    forward = 117_046_448_750_592 - 108_250_355_728_384
    assert (found.attention, found.model_attention) == (forward * 7 // 2, forward * 3)
    assert found.model == 3 * 117_046_448_750_592


def test_two_n_uses_the_active_parameters_of_a_mixture() -> None:
    # Mixtral-8x7B: 12.9 B of 46.7 B, two of eight experts in each of 32 layers (arXiv:2401.04088).
    found = count(lower(card("mixtral-8x7b")))
    assert found.total == 46_702_792_704
    assert found.active == 46_702_792_704 - 32 * 6 * 3 * 4_096 * 14_336
    assert f"{found.active / 1e9:.1f}" == "12.9"
