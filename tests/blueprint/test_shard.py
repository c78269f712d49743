"""What one rank holds, by hand; splits that a model does not allow name the nearest."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.blueprint import lower
from llmcalc.blueprint.operations import Cache, Ledger
from llmcalc.blueprint.shard import Parallel, expert_splits, shard, stages, tensor_splits
from llmcalc.catalog.data import quantization
from llmcalc.catalog.find import card
from llmcalc.engines import kv
from llmcalc.engines.weights import by_group
from llmcalc.errors import ImpossibleError
from llmcalc.spec.card import Embedding, ModelCard
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe
from tests.strategies import cards, small_card

BF16 = quantization("bf16")
GQA = Attention(num_heads=8, num_kv_heads=2, head_dim=3, qkv_bias=True, o_bias=True, sinks=True)
MOE = Moe(
    num_experts=8, num_experts_per_tok=2, intermediate_size=16, shared_intermediate_size=16,
    router_bias=True, expert_bias=True,
)  # fmt: skip


def _numbers(ledger: Ledger) -> dict[str, int]:
    """Elements by weight name, all occurrences, tied heads left out."""
    found: Counter[str] = Counter()
    for section in ledger.sections:
        for operation in section.operations:
            for weight in getattr(operation, "weights", ()):
                if weight.learned:
                    found[weight.name] += weight.numel * section.times
    return dict(found)


def _rank(model: ModelCard, **ranks: int) -> dict[str, int]:
    (only,) = shard(lower(model), Parallel(**ranks))
    return _numbers(only)


def test_heads_are_dealt_out_and_key_value_heads_replicated() -> None:
    whole = _rank(small_card(GQA))
    assert whole == {
        "embed_tokens": 80, "q_proj": 192, "q_proj.bias": 24, "k_proj": 48, "k_proj.bias": 6,
        "v_proj": 48, "v_proj.bias": 6, "sinks": 8, "o_proj": 192, "o_proj.bias": 8,
    }  # fmt: skip
    assert _rank(small_card(GQA), tp=2) == {
        "embed_tokens": 40, "q_proj": 96, "q_proj.bias": 12, "k_proj": 24, "k_proj.bias": 3,
        "v_proj": 24, "v_proj.bias": 3, "sinks": 4, "o_proj": 96, "o_proj.bias": 8,
    }  # fmt: skip
    assert _rank(small_card(GQA), tp=8) == {
        "embed_tokens": 16, "q_proj": 24, "q_proj.bias": 3, "k_proj": 24, "k_proj.bias": 3,
        "v_proj": 24, "v_proj.bias": 3, "sinks": 1, "o_proj": 24, "o_proj.bias": 8,
    }  # fmt: skip


@pytest.mark.parametrize(("tp", "per_token"), [(1, 12), (2, 6), (4, 6), (8, 6)])
def test_a_rank_caches_at_least_one_head(tp: int, per_token: int) -> None:
    (rank,) = shard(lower(small_card(GQA)), Parallel(tp=tp))
    assert kv.profile(rank).sequence(10) == 10 * per_token * 2


def test_latents_are_cached_whole_on_every_rank_and_heads_are_dealt_out() -> None:
    mla = LatentAttention(
        num_heads=4, q_lora_rank=6, kv_lora_rank=5, qk_nope_head_dim=3, qk_rope_head_dim=2,
        v_head_dim=4,
    )  # fmt: skip
    model = small_card(mla)
    (rank,) = shard(lower(model), Parallel(tp=4))
    assert kv.profile(rank).sequence(10) == 10 * (5 + 2) * 2
    assert _numbers(rank) == {
        "embed_tokens": 24, "q_a_proj": 48, "q_a_norm.weight": 6, "q_b_proj": 30, "kv_a_proj": 56,
        "kv_a_norm.weight": 5, "kv_b_proj": 35, "o_proj": 32,
    }  # fmt: skip


def test_a_vocabulary_that_does_not_divide_is_padded() -> None:
    model = small_card(Mlp(intermediate_size=12), head=True, head_bias=True)
    found = _rank(model, tp=3)
    assert (found["embed_tokens"], found["lm_head"], found["lm_head.bias"]) == (32, 32, 4)


def test_feed_forward_rows_are_dealt_out_and_the_last_bias_is_not() -> None:
    found = _rank(small_card(Mlp(intermediate_size=12, bias=True), norms=2), tp=4)
    assert found == {
        "embed_tokens": 24, "norm_1.weight": 8, "norm_2.weight": 8, "gate_proj": 24,
        "gate_proj.bias": 3, "up_proj": 24, "up_proj.bias": 3, "down_proj": 24, "down_proj.bias": 8,
    }  # fmt: skip


def test_tensor_ranks_cut_each_expert_and_keep_the_router() -> None:
    found = _rank(small_card(MOE), tp=4)
    assert (found["router"], found["router.bias"]) == (64, 8)
    assert found["experts.gate_proj"] == found["experts.down_proj"] == 8 * 8 * 16 // 4
    assert (found["experts.up_proj.bias"], found["experts.down_proj.bias"]) == (8 * 4, 8 * 8)
    assert found["shared_expert.up_proj"] == 8 * 16 // 4


@pytest.mark.parametrize("ep", [2, 4, 8])
def test_expert_ranks_take_whole_experts(ep: int) -> None:
    found, held = _rank(small_card(MOE), ep=ep, dp=ep), 8 // ep
    assert found["experts.gate_proj"] == found["experts.down_proj"] == held * 8 * 16
    assert found["experts.up_proj.bias"] == held * 16
    assert found["experts.down_proj.bias"] == held * 8
    assert (found["router"], found["shared_expert.up_proj"]) == (64, 128)


def test_the_gate_of_a_shared_expert_does_not_forbid_tensor_ranks() -> None:
    gated = Moe(
        num_experts=8, num_experts_per_tok=2, intermediate_size=16, shared_intermediate_size=16,
        shared_gate=True,
    )  # fmt: skip
    found = _rank(small_card(gated), tp=4)
    assert (found["shared_expert_gate"], found["shared_expert.up_proj"]) == (8, 32)
    assert {2, 4, 8, 16} <= set(tensor_splits(lower(card("qwen1.5-moe-a2.7b")), 16))


def test_stages_hold_each_layer_once_and_the_ends_where_they_belong() -> None:
    model = small_card(Mlp(intermediate_size=12), times=7, head=True, final_norm=True)
    found = [_numbers(stage) for stage in shard(lower(model), Parallel(pp=3))]
    assert [one["up_proj"] // 96 for one in found] == [2, 3, 2]
    assert [("embed_tokens" in one, "lm_head" in one) for one in found] == [
        (True, False), (False, False), (False, True),
    ]  # fmt: skip
    summed: Counter[str] = Counter()
    for one in found:
        summed.update(one)
    assert dict(summed) == _numbers(lower(model))


@given(st.integers(1, 60), st.data())
def test_every_layer_is_on_exactly_one_stage_in_order(layers: int, data: st.DataObject) -> None:
    order = tuple(f"layer{number}" for number in range(layers))
    pp = data.draw(st.integers(1, layers))
    found = stages(order, pp)
    assert len(found) == pp
    assert sum(found, ()) == order
    sizes = [len(stage) for stage in found]
    assert max(sizes) - min(sizes) <= 1
    assert sizes[-1] == min(sizes)


def test_a_tied_head_is_a_copy_where_the_embedding_is_elsewhere() -> None:
    model = small_card(
        Mlp(intermediate_size=12), times=4, head=True, embedding=Embedding(tied=True)
    )
    last = shard(lower(model), Parallel(pp=2))[1]
    assert by_group(last, BF16)["head"] == 160
    (alone,) = shard(lower(model), Parallel(tp=2))
    assert "head" not in by_group(alone, BF16)


@pytest.mark.parametrize(
    ("name", "ranks", "near"),
    [
        ("llama2-7b", {"tp": 3}, "2 or 4"),
        ("llama2-7b", {"tp": 7}, "4 or 8"),
        ("llama2-7b", {"tp": 64}, "32"),
        ("llama2-7b", {"pp": 33}, "32"),
        ("llama2-7b", {"ep": 2, "dp": 2}, "1"),
        ("mixtral-8x7b", {"ep": 3, "tp": 4}, "2 or 4"),
        ("mixtral-8x7b", {"ep": 3, "dp": 3}, "1"),
        ("mixtral-8x7b", {"ep": 16, "dp": 16}, "8"),
        ("gpt2-xl", {"tp": 2}, "1 or 5"),
    ],
)
def test_an_impossible_split_names_the_nearest(name: str, ranks: dict[str, int], near: str) -> None:
    with pytest.raises(ImpossibleError) as raised:
        shard(lower(card(name)), Parallel(**ranks))
    assert raised.value.hint == f"possible near it: {near}"
    assert raised.value.exit_code == 5


def test_experts_need_as_many_ranks() -> None:
    with pytest.raises(ImpossibleError, match="does not divide"):
        shard(lower(card("mixtral-8x7b")), Parallel(ep=4, tp=2))


def test_expert_splits_divide_every_layer() -> None:
    assert expert_splits(lower(card("deepseek-v3")), 16) == (1, 2, 4, 8, 16)
    assert expert_splits(lower(card("llama2-7b")), 8) == (1,)


@given(cards())
def test_one_rank_is_the_whole(model: ModelCard) -> None:
    ledger = lower(model)
    assert shard(ledger, Parallel()) == shard(ledger, Parallel(dp=4)) == (ledger,)


@given(cards(), st.sampled_from([2, 3, 4, 8]))
def test_tensor_ranks_together_hold_at_least_the_whole(model: ModelCard, tp: int) -> None:
    ledger = lower(model)
    if tp not in tensor_splits(ledger, tp):
        return
    (rank,) = shard(ledger, Parallel(tp=tp))
    whole, held = _numbers(ledger), _numbers(rank)
    assert whole.keys() == held.keys()
    assert all(whole[name] <= tp * held[name] and held[name] <= whole[name] for name in whole)
    assert tp * _cached(rank) >= _cached(ledger) >= _cached(rank)


@given(cards(), st.integers(1, 6))
def test_stages_together_hold_the_whole_and_a_tied_table_once_more(
    model: ModelCard, pp: int
) -> None:
    ledger = lower(model)
    pp = min(pp, len(ledger.order))
    summed: Counter[str] = Counter()
    found = shard(ledger, Parallel(pp=pp))
    for stage in found:
        summed.update(_numbers(stage))
    copied = Counter(_numbers(ledger))
    if pp > 1 and model.embedding.tied:
        copied["lm_head"] += model.vocab_size * (model.embedding.dim or model.hidden_size)
    assert summed == copied
    assert sum(map(_cached, found)) == _cached(ledger)


def _cached(ledger: Ledger) -> int:
    return sum(
        operation.elements * section.times
        for section in ledger.sections
        for operation in section.operations
        if isinstance(operation, Cache)
    )
