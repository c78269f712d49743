"""What a step reads and computes, by hand."""

from __future__ import annotations

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.data import quantization
from llmcalc.catalog.find import card
from llmcalc.engines.kv_format import BF16
from llmcalc.engines.work import Work, visited_share, work
from llmcalc.engines.workload import Workload
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, Mlp
from tests.strategies import small_card


def _work(model: ModelCard, batch: int, query: int, context: int, ranks: int = 1) -> Work:
    phase = "decode" if query == 1 else "prefill"
    load = Workload(phase=phase, batch=batch, query=query, context=context)
    return work(
        lower(model), format=quantization("bf16"), formats=BF16, workload=load, tensor_ranks=ranks
    )


def test_decoding_llama2_7b_reads_all_but_the_embedding() -> None:
    """6,738,415,616 parameters less 32,000 · 4,096, and 100 tokens of 524,288 B of cache."""
    found = _work(card("llama2-7b"), 1, 1, 100)
    read = 2 * (6_738_415_616 - 32_000 * 4_096)
    assert sum(one.bytes for one in found.products) == read
    assert found.resident == 2 * 6_738_415_616
    assert found.cache_bytes == 100 * 524_288


def test_decoding_computes_two_flops_a_weight_and_sequence() -> None:
    """Norms and the embedding multiply nothing; scores and values are 4 · 4,096 a layer and key."""
    found = _work(card("llama2-7b"), 3, 1, 100)
    matmul = 2 * 3 * (6_738_415_616 - 32_000 * 4_096 - 65 * 4_096)
    assert sum(one.flops for one in found.products) == matmul
    assert found.attention_flops == 3 * 32 * 4 * 4_096 * 100


def test_a_prefill_needs_logits_of_the_last_tokens_only() -> None:
    model = small_card(Mlp(intermediate_size=20), d=8, head=True, vocab=1_000)
    found = {one.name: one for one in _work(model, 2, 50, 50).products}
    assert found["head"].flops == 2 * 2 * 8 * 1_000
    assert found["mlp"].flops == 2 * 100 * 3 * 8 * 20


def test_a_tied_table_is_read_as_the_head() -> None:
    model = card("gemma-2b")
    found = {one.name: one for one in _work(model, 1, 1, 10).products}
    assert found["embedding"].bytes == 2 * 256_000 * 2_048
    assert found["embedding"].flops == 2 * 256_000 * 2_048


@pytest.mark.parametrize(("tokens", "share"), [(1, 2 / 8), (2, 1 - 0.75**2), (1_000, 1.0)])
def test_experts_visited_are_those_that_some_token_picks(tokens: int, share: float) -> None:
    assert visited_share(k=2, E=8, tokens=tokens) == pytest.approx(share)
    found = {one.name: one for one in _work(card("mixtral-8x7b"), tokens, 1, 10).products}
    experts = 2 * 32 * 8 * 3 * 4_096 * 14_336
    assert found["experts"].bytes == pytest.approx(share * experts, abs=1)
    assert found["experts"].flops == tokens * 2 * experts // 8


def test_tensor_ranks_sum_twice_a_layer() -> None:
    model = small_card(Attention(num_heads=4), Mlp(intermediate_size=20), times=5)
    found = _work(model, 3, 1, 10, ranks=2)
    assert (found.exchanges, found.exchanged) == (10, 3 * 8 * 2)
    assert _work(model, 3, 1, 10).exchanges == 0


def test_latents_are_read_once_for_all_heads() -> None:
    """DeepSeek-V3: 576 numbers a layer and token, 61 layers."""
    assert _work(card("deepseek-v3"), 1, 1, 1_000).cache_bytes == 1_000 * 61 * 576 * 2


def test_states_are_read_and_written() -> None:
    found = _work(card("mamba-2.8b"), 2, 1, 5_000)
    assert found.cache_bytes == 2 * 2 * 64 * 5_120 * (16 + 3) * 2
