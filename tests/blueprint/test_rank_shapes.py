"""What a rank's share of a matrix means for its scales and its scratch space, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.blueprint import lower
from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.shard import Parallel, shard, tensor_splits
from llmcalc.catalog.data import quantization, quantizations
from llmcalc.engines import activations
from llmcalc.engines.weights import by_group
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe
from tests.strategies import cards, small_card

GQA = Attention(num_heads=4, num_kv_heads=2, head_dim=3)
MOE = Moe(num_experts=8, num_experts_per_tok=2, intermediate_size=4)


def _rank(model: ModelCard, **ranks: int) -> Ledger:
    (only,) = shard(lower(model), Parallel(**ranks))
    return only


def test_every_rank_scales_all_output_rows_of_a_matrix_cut_along_its_inputs() -> None:
    """int8, tp 2: q, k and v put out 6 + 3 + 3 rows, o all 8; gate and up 6 each, down all 8."""
    rank = by_group(_rank(small_card(GQA, Mlp(intermediate_size=12)), tp=2), quantization("int8"))
    assert rank["attention"] == (6 + 3 + 3) * 8 + 8 * 6 + 4 * (6 + 3 + 3 + 8)
    assert rank["mlp"] == 3 * 8 * 6 + 4 * (6 + 6 + 8)


def test_groups_are_those_of_the_inputs_that_a_rank_has() -> None:
    """int4, tp 2: 300 inputs of the down projection make 2 groups of 150, not half of 3."""
    rank = by_group(
        _rank(small_card(Mlp(intermediate_size=300, gated=False)), tp=2), quantization("int4")
    )
    assert rank["mlp"] == -(-(2 * 8 * 150 * 4 + (150 * 1 + 8 * 2) * 20) // 8)


@pytest.mark.parametrize(("ranks", "experts"), [({}, 8), ({"tp": 2}, 8), ({"ep": 4, "dp": 4}, 2)])
def test_a_rank_has_a_scale_for_each_expert_it_holds(ranks: dict[str, int], experts: int) -> None:
    rank = by_group(_rank(small_card(MOE), **ranks), quantization("fp8"))
    rows = 4 // ranks.get("tp", 1)
    assert rank["experts"] == experts * 3 * (8 * rows + 4)


def test_latent_attention_on_a_rank() -> None:
    mla = LatentAttention(
        num_heads=4, kv_lora_rank=5, qk_nope_head_dim=3, qk_rope_head_dim=2, v_head_dim=4
    )
    rank = by_group(_rank(small_card(mla), tp=4), quantization("int8"))
    weights, rows = 5 * 8 + 7 * 8 + 7 * 5 + 8 * 4, 5 + 7 + 7 + 8
    assert rank["attention"] == weights + 4 * rows


def test_the_output_of_a_part_is_whole_on_every_rank() -> None:
    """Each rank adds up a partial sum of the full width: 6 + 3 + 3 + 8, and 6 + 6 + 8."""
    assert activations.widest(_rank(small_card(GQA), tp=2)) == 20
    assert activations.widest(_rank(small_card(Mlp(intermediate_size=12)), tp=2)) == 20
    # router 8, gate and up 2 · 2 each, down 2 · 8
    assert activations.widest(_rank(small_card(MOE), tp=2)) == 8 + 4 + 4 + 16


def test_logits_are_gathered() -> None:
    model = small_card(GQA, head=True)
    assert activations.head_width(_rank(model, tp=2)) == 10
    assert activations.head_width(_rank(small_card(GQA), tp=2)) == 0


@given(cards(), st.sampled_from([2, 4]), st.sampled_from([q.name for q in quantizations()]))
def test_a_rank_never_stores_more_than_the_whole_nor_less_than_its_share(
    model: ModelCard, tp: int, format: str
) -> None:
    ledger = lower(model)
    if tp not in tensor_splits(ledger, tp):
        return
    whole = by_group(ledger, quantization(format))
    rank = by_group(_rank(model, tp=tp), quantization(format))
    assert all(whole[name] <= tp * rank[name] for name in whole)
    # Shorter rows may need as many groups: int4 scales are bounded, not divided.
    assert all(rank[name] <= whole[name] for name in whole)


@given(cards(), st.sampled_from([2, 4]))
def test_shapes_of_a_rank_are_consistent(model: ModelCard, tp: int) -> None:
    ledger = lower(model)
    if tp not in tensor_splits(ledger, tp):
        return
    for section in _rank(model, tp=tp).sections:
        for operation in section.operations:
            for weight in getattr(operation, "weights", ()):
                product = 1
                for axis in weight.shape:
                    product *= axis
                assert weight.numel == product
