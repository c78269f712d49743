"""Splits that engines refuse are refused, and what a refusal proposes is possible."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.blueprint import lower
from llmcalc.blueprint.parallel import Parallel
from llmcalc.blueprint.shard import refuse_impossible, shard
from llmcalc.catalog.find import card
from llmcalc.errors import ImpossibleError
from llmcalc.planner.splits import splits
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe
from llmcalc.spec.recurrent import GatedDeltaNet, Mamba2
from tests.strategies import cards, small_card

MLA = LatentAttention(
    num_heads=16, kv_lora_rank=5, qk_nope_head_dim=3, qk_rope_head_dim=2, v_head_dim=4
)
GQA = Attention(num_heads=16, num_kv_heads=2, head_dim=3)
MOE = Moe(num_experts=8, num_experts_per_tok=2, intermediate_size=16)


def _refusal(model: ModelCard, parallel: Parallel) -> tuple[str, str]:
    with pytest.raises(ImpossibleError) as raised:
        refuse_impossible(lower(model), parallel)
    return raised.value.message, raised.value.hint


@pytest.mark.parametrize(
    ("model", "ranks", "message", "hint"),
    [
        (small_card(MLA), {"tp": 8, "attention_dp": 3}, "does not divide --tp 8", "2 or 4"),
        (small_card(MLA), {"tp": 4, "attention_dp": 8}, "does not divide --tp 4", "4"),
        (small_card(MLA), {"tp": 8, "dcp": 3}, "--dcp 3 does not divide --tp 8", "2 or 4"),
        # Two cached heads on eight ranks: four copies of each, which share its tokens.
        (small_card(GQA), {"tp": 8, "dcp": 8}, "more than the ranks", "4"),
        (small_card(GQA), {"tp": 2, "dcp": 2}, "more than the ranks", "1"),
        (small_card(replace(GQA, window=8)), {"tp": 8, "dcp": 2}, "window", "1"),
        (small_card(MOE), {"tp": 2, "dp": 3, "ep": 3}, "--ep 3 does not divide", "2"),
        (small_card(MOE), {"dp": 12, "ep": 12, "uneven_experts": True}, "--ep 12", "6"),
        (small_card(MOE), {"dp": 3, "experts_over_data": True}, "experts", "2 or 4"),
    ],
)
def test_refused_with_the_nearest(
    model: ModelCard, ranks: dict[str, int], message: str, hint: str
) -> None:
    said, near = _refusal(model, Parallel(**ranks))
    assert message in said
    assert near == f"possible near it: {hint}"


def test_another_axis_where_no_degree_of_the_same_does() -> None:
    """Six tensor ranks neither hold four groups of experts nor cut the 16 rows of one."""
    said, hint = _refusal(small_card(MOE), Parallel(tp=6, dp=2, ep=4))
    assert "--ep 4" in said
    assert hint == "possible: --tp 4 --ep 4 --dp 2"


def test_redundant_and_uneven_experts_need_not_divide() -> None:
    ledger = lower(small_card(MOE))
    refuse_impossible(ledger, Parallel(dp=3, ep=3, redundant_experts=1))
    refuse_impossible(ledger, Parallel(dp=3, ep=3, uneven_experts=True))
    with pytest.raises(ImpossibleError):
        refuse_impossible(ledger, Parallel(dp=3, ep=3))


def test_groups_of_a_recurrence_divide_or_there_is_one() -> None:
    """As vLLM 0.32.0 asserts in mamba_mixer2.py: "num_groups must equal 1"."""
    for groups, possible in ((1, True), (2, False), (4, True)):
        model = small_card(Mamba2(num_heads=8, head_dim=4, state_size=3, n_groups=groups))
        if possible:
            refuse_impossible(lower(model), Parallel(tp=4))
        else:
            assert _refusal(model, Parallel(tp=4))[1] == "possible near it: 2"
    delta = GatedDeltaNet(num_k_heads=4, num_v_heads=8, head_k_dim=2, head_v_dim=2)
    assert _refusal(small_card(delta), Parallel(tp=8))[1] == "possible near it: 4"


def test_stages_must_be_those_of_the_model() -> None:
    model = small_card(Mlp(intermediate_size=12), times=32)
    refuse_impossible(lower(model), Parallel(pp=3, stages=(10, 12, 10)))
    for asked in ((10, 12, 11), (10, 12), (0, 16, 16)):
        message, hint = _refusal(model, Parallel(pp=3, stages=asked))
        assert message.startswith(f"stages of {', '.join(map(str, asked))} layers")
        assert hint == "possible: stages of 10, 11, 11 layers" or hint.endswith("11, 11, 10 layers")


def test_real_models() -> None:
    deepseek = lower(card("deepseek-v3"))
    refuse_impossible(deepseek, Parallel(tp=16, attention_dp=16, ep=16))
    refuse_impossible(deepseek, Parallel(dp=144, ep=144, redundant_experts=32))
    refuse_impossible(deepseek, Parallel(tp=8, dcp=8))
    with pytest.raises(ImpossibleError, match="--ep 144"):
        refuse_impossible(deepseek, Parallel(dp=144, ep=144))


RANKS = st.sampled_from([1, 2, 3, 4, 6, 8])
SPLITS = st.builds(
    Parallel, tp=RANKS, pp=RANKS, ep=RANKS, dp=RANKS, cp=st.sampled_from([1, 2]), dcp=RANKS,
    attention_dp=RANKS, redundant_experts=st.sampled_from([0, 2]), uneven_experts=st.booleans(),
    experts_over_data=st.booleans(), vocab_multiple=st.sampled_from([1, 64]),
)  # fmt: skip


@given(cards(), SPLITS)
def test_what_a_refusal_proposes_works(model: ModelCard, parallel: Parallel) -> None:
    ledger = lower(model)
    try:
        shard(ledger, parallel)
    except ImpossibleError as error:
        for proposed in _proposals(error, parallel):
            refuse_impossible(ledger, proposed)


def _proposals(error: ImpossibleError, parallel: Parallel) -> list[Parallel]:
    """The splits that a hint names."""
    near = re.fullmatch(r"possible near it: (\d+)(?: or (\d+))?", error.hint)
    if near:
        named = re.match(r"--([a-z-]+) ", error.message)
        assert named, error.message
        axis = named[1].replace("-", "_")
        return [replace(parallel, **{axis: int(n)}) for n in near.groups() if n]
    plain = dict.fromkeys(("tp", "pp", "ep", "dp", "cp", "dcp", "attention_dp"), 1)
    if error.hint != "possible: one GPU":
        asked = re.findall(r"--([a-z-]+) (\d+)", error.hint)
        assert asked, error.hint
        plain |= {axis.replace("-", "_"): int(n) for axis, n in asked}
    return [replace(parallel, **plain)]


@given(cards(), st.integers(1, 12))
def test_the_planner_tries_only_what_is_possible(model: ModelCard, gpus: int) -> None:
    ledger = lower(model)
    for parallel in splits(ledger, gpus):
        refuse_impossible(ledger, parallel)
