"""FLOPs against brute force: every query-key pair enumerated, every matmul written out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.blueprint import lower
from llmcalc.engines import flops
from llmcalc.engines.workload import Phase, Workload, causal_pairs, full_pairs
from llmcalc.spec.card import Embedding, Mtp
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe, Part
from tests.strategies import small_card


def _enumerated(query: int, context: int, window: int | None) -> int:
    """Pairs (i, j) with j at or before i, and within the window of i, i among the last `query`."""
    return sum(
        1
        for i in range(context - query, context)
        for j in range(context)
        if j <= i and (window is None or i - j < window)
    )


@given(st.integers(1, 40), st.integers(0, 40), st.none() | st.integers(1, 90))
def test_causal_pairs_are_those_enumerated(query: int, before: int, window: int | None) -> None:
    work = Workload(phase="prefill", batch=1, query=query, context=query + before)
    assert causal_pairs(work, window) == _enumerated(query, query + before, window)


@given(st.integers(1, 60), st.integers(1, 60), st.none() | st.integers(1, 90))
def test_a_prompt_in_two_chunks_has_the_pairs_of_one(
    first: int, second: int, w: int | None
) -> None:
    chunks = (
        Workload(phase="prefill", batch=1, query=first, context=first),
        Workload(phase="prefill", batch=1, query=second, context=first + second),
    )
    whole = Workload(phase="prefill", batch=1, query=first + second, context=first + second)
    assert sum(causal_pairs(chunk, w) for chunk in chunks) == causal_pairs(whole, w)


@pytest.mark.parametrize(
    ("query", "context", "window", "pairs"),
    [
        (5, 5, None, 25),
        (5, 9, None, 45),
        (1, 9, None, 9),
        (1, 9, 4, 4),
        (5, 5, 2, 25),
        (1, 3, 4, 3),
    ],
)
def test_full_pairs_are_the_whole_product_of_what_is_kept(
    query: int, context: int, window: int | None, pairs: int
) -> None:
    work = Workload(phase="prefill", batch=3, query=query, context=context)
    assert full_pairs(work, window) == pairs


def _flops(
    *parts: Part, batch: int = 1, query: int = 6, context: int = 6, phase: Phase = "prefill",
    absorbed: bool = False, mask: flops.Mask = "causal", **more: Any,
) -> flops.Flops:  # fmt: skip
    work = Workload(phase=phase, batch=batch, query=query, context=context)
    return flops.count(lower(small_card(*parts, **more), absorbed=absorbed), work, mask)


GQA: dict[str, Any] = {"num_heads": 4, "num_kv_heads": 2, "head_dim": 3, "v_head_dim": 5}


def test_attention_counts_query_heads_and_both_head_sizes() -> None:
    found = _flops(Attention(**GQA), batch=2, times=3)
    assert found.matmul == 3 * 2 * (2 * 6) * 384
    assert found.attention == found.model_attention == 3 * 2 * 2 * 4 * (3 + 5) * 21
    assert found.total == found.matmul + found.attention


def test_a_window_counts_only_its_pairs() -> None:
    found = _flops(Attention(**GQA, window=2))
    assert found.attention == 2 * 4 * 8 * (1 + 2 * 5)
    assert _flops(Attention(**GQA, window=2), mask="full").attention == 2 * 4 * 8 * 36


def test_a_decoded_token_sees_its_context_and_a_window_cuts_it() -> None:
    decode: dict[str, Any] = {"phase": "decode", "query": 1, "context": 100, "batch": 3}
    assert _flops(Attention(**GQA), **decode).attention == 3 * 2 * 4 * 8 * 100
    assert _flops(Attention(**GQA, window=30), **decode).attention == 3 * 2 * 4 * 8 * 30
    assert _flops(Attention(**GQA), **decode).matmul == 3 * 2 * 384


def test_biases_norms_and_sinks_are_no_matmul() -> None:
    extras = Attention(**GQA, qkv_bias=True, o_bias=True, sinks=True, qk_norm="full")
    found = _flops(extras, norms=2, final_norm=True, embedding=Embedding(norm=True, positions=9))
    assert found.total == _flops(Attention(**GQA)).total


def test_an_output_gate_is_one_more_matmul() -> None:
    gated, plain = _flops(Attention(**GQA, output_gate=True)), _flops(Attention(**GQA))
    assert gated.matmul - plain.matmul == 2 * 6 * 8 * 20


MLA = LatentAttention(
    num_heads=2, kv_lora_rank=5, qk_nope_head_dim=3, qk_rope_head_dim=2, v_head_dim=4
)


def test_latent_attention_expands_in_a_prefill_and_absorbs_when_decoding() -> None:
    """The same matmul FLOPs; the products over h·(d_n + d_r + d_v) or h·(2·r_kv + d_r)."""
    weights = 2 * 5 * 8 + 7 * 8 + 2 * 7 * 5 + 8 * 8
    expanded, absorbed = _flops(MLA), _flops(MLA, absorbed=True)
    assert expanded.matmul == absorbed.matmul == 2 * 6 * weights
    assert expanded.attention == 2 * 2 * (3 + 2 + 4) * 21
    assert absorbed.attention == 2 * 2 * (5 + 2 + 5) * 21


def test_experts_count_the_visited_and_the_shared() -> None:
    moe = Moe(
        num_experts=8, num_experts_per_tok=3, intermediate_size=5, shared_intermediate_size=6,
        shared_gate=True, router_bias=True, expert_bias=True, correction_bias=True,
    )  # fmt: skip
    by_component = _flops(moe, times=2).by_component
    assert by_component == {
        "router": 2 * 12 * 8 * 8,
        "experts": 2 * 12 * 3 * 3 * 8 * 5,
        "shared_expert": 2 * 12 * (3 * 8 * 6 + 8),
    }


def test_the_head_counts_tied_or_not_and_prediction_heads_do_not() -> None:
    mlp = Mlp(intermediate_size=6)
    bare = _flops(mlp).matmul
    for tied in (False, True):
        found = _flops(mlp, head=True, embedding=Embedding(tied=tied), mtp=Mtp(block="one"))
        assert found.matmul - bare == 2 * 6 * 10 * 8
    assert bare == 2 * 6 * 144


def test_a_factorised_embedding_adds_two_projections() -> None:
    mlp = Mlp(intermediate_size=6)
    found = _flops(mlp, head=True, embedding=Embedding(dim=4))
    assert found.matmul == 2 * 6 * (144 + 2 * 4 * 8 + 4 * 10)


def test_training_is_three_forwards_of_matmul_and_flash_attention_scores_twice() -> None:
    """Flash: scores, they again, dQ and dK are d_k wide; values, dV and dP are d_v wide."""
    forward = _flops(Attention(**GQA), Mlp(intermediate_size=6))
    trained = _flops(Attention(**GQA), Mlp(intermediate_size=6), phase="train")
    assert trained.matmul == sum(trained.by_component.values()) == 3 * forward.matmul
    assert trained.attention * (3 + 5) == forward.attention * (4 * 3 + 3 * 5)  # d_k 3, d_v 5
    assert trained.model_attention == 3 * forward.attention
    assert trained.model == 3 * forward.total
    assert trained.total == trained.matmul + trained.attention


def test_flash_attention_trains_at_three_and_a_half_forwards_where_widths_agree() -> None:
    even = Attention(num_heads=4, head_dim=4)
    forward, trained = _flops(even), _flops(even, phase="train")
    assert 2 * trained.attention == 7 * forward.attention


def test_attention_with_sinks_keeps_its_scores_and_trains_at_three_forwards() -> None:
    drained = Attention(num_heads=4, head_dim=4, sinks=True)
    forward, trained = _flops(drained), _flops(drained, phase="train")
    assert trained.attention == 3 * forward.attention


def test_the_rule_is_factor_times_n_times_tokens() -> None:
    assert flops.rule_of_thumb(factor=6, N=7, tokens=11) == 462
