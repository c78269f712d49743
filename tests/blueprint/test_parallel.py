"""How ranks, layers and tokens are counted out, by hand and as engines do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.blueprint.parallel import Parallel, Spare, even_stages, tokens_on_rank


@pytest.mark.parametrize(
    ("layers", "pp", "spare", "stages"),
    [
        # vLLM 0.32.0, get_pp_indices: one more for the last but one, the one before, …
        (7, 3, "inner", (2, 3, 2)),
        (7, 2, "inner", (4, 3)),
        (61, 4, "inner", (15, 15, 16, 15)),
        (62, 4, "inner", (15, 16, 16, 15)),
        (63, 4, "inner", (16, 16, 16, 15)),
        # SGLang: the last stages.
        (61, 4, "last", (15, 15, 15, 16)),
        (62, 4, "last", (15, 15, 16, 16)),
        # TensorRT-LLM: "first n ranks get one extra layer".
        (61, 4, "first", (16, 15, 15, 15)),
        (62, 4, "first", (16, 16, 15, 15)),
        (32, 4, "inner", (8, 8, 8, 8)),
    ],
)
def test_the_rest_of_the_layers_goes_where_the_engine_puts_it(
    layers: int, pp: int, spare: Spare, stages: tuple[int, ...]
) -> None:
    assert even_stages(layers, pp, spare) == stages


@given(st.integers(1, 200), st.data(), st.sampled_from(["inner", "last", "first"]))
def test_stages_are_as_even_as_they_go(layers: int, data: st.DataObject, spare: Spare) -> None:
    pp = data.draw(st.integers(1, layers))
    stages = even_stages(layers, pp, spare)
    assert (len(stages), sum(stages)) == (pp, layers)
    assert max(stages) - min(stages) <= 1


@pytest.mark.parametrize(
    ("tokens", "ranks", "interleave", "held"),
    [
        (100, {"dcp": 8}, 1, 13),
        (96, {"dcp": 8}, 1, 12),
        (100, {"cp": 2, "dcp": 4}, 1, 13),
        # Runs of 16 round four ranks: one whole round of 64, then 16 more for the first.
        (100, {"cp": 4}, 16, 32),
        (70, {"cp": 4}, 16, 22),
        (100, {"tp": 8, "dp": 2}, 1, 100),
    ],
)
def test_the_first_rank_caches_most_tokens(
    tokens: int, ranks: dict[str, int], interleave: int, held: int
) -> None:
    assert tokens_on_rank(tokens, Parallel(**ranks), interleave=interleave) == held


@given(st.integers(0, 10_000), st.integers(1, 16), st.integers(1, 16), st.integers(1, 64))
def test_ranks_together_cache_every_token(tokens: int, cp: int, dcp: int, run: int) -> None:
    held = tokens_on_rank(tokens, Parallel(cp=cp, dcp=dcp), interleave=run)
    dealt = [0] * (cp * dcp)
    for token in range(tokens):
        dealt[token // run % len(dealt)] += 1
    assert held == max(dealt)


def test_devices_and_groups_of_sequences() -> None:
    """SGLang's groups of attention are among the tensor ranks, context ranks stand beside them."""
    sglang = Parallel(tp=8, attention_dp=8, ep=8)
    assert (sglang.gpus, sglang.replicas, sglang.attention_tp, sglang.expert_rows) == (8, 8, 1, 1)
    vllm = Parallel(dp=8, ep=8)
    assert (vllm.gpus, vllm.replicas, vllm.attention_tp, vllm.expert_rows) == (8, 8, 1, 1)
    context = Parallel(tp=2, pp=2, cp=4, dcp=2, dp=3)
    assert (context.gpus, context.replicas, context.expert_ranks) == (48, 3, 24)


@pytest.mark.parametrize(
    ("ranks", "rows"),
    [
        ({"tp": 8}, 8),
        ({"tp": 8, "ep": 8}, 1),
        ({"tp": 8, "ep": 4}, 2),
        ({"tp": 4, "dp": 2, "ep": 8}, 1),
        ({"tp": 4, "dp": 2}, 4),
        # vLLM without --enable-expert-parallel: FusedMoEParallelConfig flattens tensor over data.
        ({"tp": 4, "dp": 2, "experts_over_data": True}, 8),
    ],
)
def test_ranks_that_cut_one_expert(ranks: dict[str, int], rows: int) -> None:
    assert Parallel(**ranks).expert_rows == rows


def test_who_works_alone() -> None:
    assert Parallel(dp=4).alone
    assert not Parallel(dp=4, experts_over_data=True).alone
    assert not any(Parallel(**{axis: 2}).alone for axis in ("tp", "pp", "ep", "cp"))
