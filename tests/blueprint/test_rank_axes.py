"""What the fullest rank holds under each option of a split, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given

from llmcalc.blueprint import lower
from llmcalc.blueprint.operations import Cache, Ledger, State
from llmcalc.blueprint.parallel import Parallel
from llmcalc.blueprint.shard import shard
from llmcalc.catalog.find import card
from llmcalc.errors import ImpossibleError
from llmcalc.spec.card import Embedding, ModelCard
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe
from llmcalc.spec.recurrent import GatedDeltaNet, Mamba2
from tests.blueprint.test_possible import SPLITS
from tests.strategies import cards, small_card

MLA = LatentAttention(
    num_heads=4, kv_lora_rank=5, qk_nope_head_dim=3, qk_rope_head_dim=2, v_head_dim=4
)
GQA = Attention(num_heads=8, num_kv_heads=2, head_dim=3)
MOE = Moe(num_experts=8, num_experts_per_tok=2, intermediate_size=16, shared_intermediate_size=16)


def _numbers(ledger: Ledger) -> dict[str, int]:
    found: dict[str, int] = {}
    for section in ledger.sections:
        for operation in section.operations:
            for weight in getattr(operation, "weights", ()):
                if weight.learned:
                    found[weight.name] = found.get(weight.name, 0) + weight.numel * section.times
    return found


def _kept(ledger: Ledger) -> dict[str, int]:
    """Elements of a token and of a sequence."""
    found = {"token": 0, "sequence": 0}
    for section in ledger.sections:
        for operation in section.operations:
            if isinstance(operation, (Cache, State)):
                kind = "token" if isinstance(operation, Cache) else "sequence"
                found[kind] += operation.elements * section.times
    return found


def _rank(model: ModelCard, parallel: Parallel) -> dict[str, int]:
    (only,) = shard(lower(model), parallel)
    return _numbers(only)


@pytest.mark.parametrize(
    ("vocab", "multiple", "tp", "rows"),
    [
        # vLLM and SGLang fill up to 64; Megatron to 128 a rank.
        (32000, 64, 1, 32000), (32001, 64, 1, 32064), (50257, 64, 1, 50304),
        (50257, 64, 8, 6288), (151_665, 64, 4, 37_920), (50257, 128 * 8, 8, 6400),
        (10, 1, 3, 4), (10, 4, 3, 4),
    ],
)  # fmt: skip
def test_the_vocabulary_is_filled_up(vocab: int, multiple: int, tp: int, rows: int) -> None:
    model = small_card(Mlp(intermediate_size=24), vocab=vocab, head=True, head_bias=True)
    found = _rank(model, Parallel(tp=tp, vocab_multiple=multiple))
    assert (found["embed_tokens"], found["lm_head"], found["lm_head.bias"]) == (
        8 * rows, 8 * rows, rows,
    )  # fmt: skip


def test_groups_that_attend_apart_hold_attention_whole_and_share_the_rest() -> None:
    model = small_card(MLA, Mlp(intermediate_size=12), head=True)
    whole = _rank(model, Parallel())
    found = _rank(model, Parallel(tp=4, attention_dp=4))
    alone = {"q_proj", "kv_a_proj", "kv_a_norm.weight", "kv_b_proj", "o_proj", "embed_tokens"}
    assert {name: found[name] for name in alone} == {name: whole[name] for name in alone}
    assert found["up_proj"] * 4 == whole["up_proj"]
    assert found["lm_head"] == 8 * 3  # 10 rows on 4 ranks
    half = _rank(model, Parallel(tp=4, attention_dp=2))
    assert (half["o_proj"] * 2, half["embed_tokens"] * 2) == (
        whole["o_proj"], whole["embed_tokens"],
    )  # fmt: skip


def test_a_group_that_attends_apart_caches_all_heads_of_its_sequences() -> None:
    ledger = lower(small_card(GQA, times=3))
    for attention_dp, heads in ((1, 1), (2, 1), (4, 1), (8, 2)):
        (rank,) = shard(ledger, Parallel(tp=8, attention_dp=attention_dp))
        assert _kept(rank)["token"] == 3 * heads * (3 + 3)


def test_expert_ranks_left_over_cut_experts() -> None:
    model = small_card(MOE)
    for parallel, experts, rows in (
        (Parallel(tp=8, ep=8), 1, 16),
        (Parallel(tp=8, ep=4), 2, 8),
        (Parallel(tp=8), 8, 2),
        (Parallel(tp=2, dp=4, ep=8), 1, 16),
        (Parallel(tp=2, dp=4, experts_over_data=True), 8, 2),
        (Parallel(tp=2, dp=4), 8, 8),
        (Parallel(cp=4, ep=4), 2, 16),
    ):
        found = _rank(model, parallel)
        assert found["experts.gate_proj"] == found["experts.down_proj"] == experts * rows * 8


def test_redundant_and_uneven_experts() -> None:
    """DeepSeek-V3's own decoding unit: 256 + 32 experts on 144 ranks, two on each."""
    (rank,) = shard(lower(card("deepseek-v3")), Parallel(dp=144, ep=144, redundant_experts=32))
    assert _numbers(rank)["experts.up_proj"] == 58 * 2 * 2048 * 7168
    one = 16 * 8
    assert _rank(small_card(MOE), Parallel(dp=3, ep=3, uneven_experts=True)) == _rank(
        small_card(MOE), Parallel()
    ) | dict.fromkeys(("experts.gate_proj", "experts.up_proj", "experts.down_proj"), 3 * one)
    found = _rank(small_card(MOE), Parallel(tp=2, ep=2, redundant_experts=2))
    assert found["experts.up_proj"] == 5 * one


def test_shared_experts_stand_whole_where_their_tokens_are_dealt_out() -> None:
    """As vLLM 0.32.0 decides (use_sequence_parallel_moe); SGLang with DeepEP must say so."""
    for parallel, rows in (
        (Parallel(tp=4, ep=4), 4),
        (Parallel(tp=4, dp=2, ep=8), 16),
        (Parallel(tp=4, ep=4, whole_shared_experts=True), 16),
        (Parallel(tp=4, dp=2, ep=8, whole_shared_experts=False), 4),
        (Parallel(dp=8, ep=8), 16),
    ):
        assert _rank(small_card(MOE), parallel)["shared_expert.up_proj"] == rows * 8


@pytest.mark.parametrize(("groups", "conv"), [(1, 4 + 2 * 3), (4, 4 + 2 * 3)])
def test_each_rank_convolves_its_heads_and_a_group(groups: int, conv: int) -> None:
    """Eight heads of 2 on four ranks: 4 channels, and B and C of one group of 3 numbers.

    vLLM 0.32.0, mamba_utils.py: mamba2_state_shape, extra_groups_for_head_shards.
    """
    part = Mamba2(num_heads=8, head_dim=2, state_size=3, n_groups=groups, conv_kernel=4)
    (rank,) = shard(lower(small_card(part)), Parallel(tp=4))
    assert _kept(rank)["sequence"] == conv * 3 + 2 * 2 * 3
    assert _numbers(rank)["conv"] == conv * 4


def test_heads_of_a_gated_delta_net_are_dealt_out() -> None:
    """Qwen3-Next, tp 4: 4 key heads and 8 value heads of 128, kernel 4 (mamba_utils.py)."""
    part = GatedDeltaNet(num_k_heads=16, num_v_heads=32, head_k_dim=128, head_v_dim=128)
    (rank,) = shard(lower(small_card(part)), Parallel(tp=4))
    assert _kept(rank)["sequence"] == (2 * 4 * 128 + 8 * 128) * 3 + 8 * 128 * 128


def test_stages_as_asked() -> None:
    model = small_card(
        Mlp(intermediate_size=12), times=32, head=True, embedding=Embedding(tied=True)
    )
    found = shard(lower(model), Parallel(pp=3, stages=(10, 12, 10), vocab_multiple=64))
    assert [_numbers(one)["up_proj"] // 96 for one in found] == [10, 12, 10]
    assert [_numbers(one).get("embed_tokens") for one in found] == [512, None, None]
    assert [_numbers(one).get("lm_head") for one in found] == [None, None, 512]


@given(cards(), SPLITS)
def test_ranks_together_hold_at_least_the_whole(model: ModelCard, parallel: Parallel) -> None:
    ledger = lower(model)
    try:
        found = shard(ledger, parallel)
    except ImpossibleError:
        return
    whole = _numbers(ledger)
    held: dict[str, int] = {}
    for stage in found:
        for name, size in _numbers(stage).items():
            held[name] = held.get(name, 0) + size
    assert whole.keys() <= held.keys()
    ranks = parallel.expert_ranks
    assert all(whole[name] <= ranks * held[name] for name in whole)
    kept = [_kept(stage) for stage in found]
    for kind, size in _kept(ledger).items():
        summed = sum(one[kind] for one in kept)
        assert size <= parallel.attention_tp * summed
        assert summed <= size
