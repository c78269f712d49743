"""Parameters of small models, each count worked out by hand: d = 8, V = 10."""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.blueprint import lower
from llmcalc.engines.params import ParamCount, count
from llmcalc.spec.card import Block, Embedding, Mtp, Tensor
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe, Part
from tests.strategies import small_card

GQA: dict[str, Any] = {"num_heads": 4, "num_kv_heads": 2, "head_dim": 3, "v_head_dim": 5}
GQA_WEIGHTS = 4 * 3 * 8 + 2 * 3 * 8 + 2 * 5 * 8 + 8 * 4 * 5
MLA: dict[str, Any] = {
    "num_heads": 2, "kv_lora_rank": 5, "qk_nope_head_dim": 3, "qk_rope_head_dim": 2,
    "v_head_dim": 4,
}  # fmt: skip
MOE: dict[str, Any] = {"num_experts": 4, "num_experts_per_tok": 2, "intermediate_size": 3}


def _count(*parts: Part, **more: Any) -> ParamCount:
    return count(lower(small_card(*parts, **more)))


def _components(found: ParamCount) -> dict[str, int]:
    """What is not zero, beside the token table of 10 · 8."""
    components = {str(name): size for name, size in found.components.items() if size}
    assert components.pop("embedding") == 80
    assert found.total == 80 + sum(components.values())
    return components


def test_grouped_query_attention_with_a_value_size_of_its_own() -> None:
    assert _components(_count(Attention(**GQA))) == {"attention": 384} == {"attention": GQA_WEIGHTS}


def test_heads_default_to_the_width_over_their_number() -> None:
    assert _components(_count(Attention(num_heads=4))) == {"attention": 4 * 8 * 8}
    assert _components(_count(Attention(num_heads=4, num_kv_heads=1))) == {
        "attention": 2 * 64 + 2 * 16
    }


@pytest.mark.parametrize(
    ("extra", "attention", "norm"),
    [
        ({"qkv_bias": True}, 4 * 3 + 2 * 3 + 2 * 5, 0),
        ({"o_bias": True}, 8, 0),
        ({"qk_norm": "head"}, 0, 3 + 3),
        ({"qk_norm": "full"}, 0, 4 * 3 + 2 * 3),
        ({"sinks": True}, 4, 0),
        ({"output_gate": True}, 4 * 5 * 8, 0),
        ({"window": 7}, 0, 0),
        ({"rotary_dim": 2}, 0, 0),
    ],
)
def test_what_each_extra_of_attention_adds(extra: Any, attention: int, norm: int) -> None:
    found = _count(Attention(**GQA, **extra))
    assert found.components["attention"] == GQA_WEIGHTS + attention
    assert found.components["norm"] == norm
    assert found.total == found.active == 80 + GQA_WEIGHTS + attention + norm


def test_latent_attention_with_a_low_rank_query() -> None:
    found = _count(LatentAttention(**MLA, q_lora_rank=6))
    by_hand = 6 * 8 + 2 * 5 * 6 + (5 + 2) * 8 + 2 * (3 + 4) * 5 + 8 * 2 * 4
    assert _components(found) == {"attention": by_hand, "norm": 6 + 5}
    assert by_hand == 298


def test_latent_attention_with_a_full_query() -> None:
    by_hand = 2 * 5 * 8 + (5 + 2) * 8 + 2 * (3 + 4) * 5 + 8 * 2 * 4
    assert _components(_count(LatentAttention(**MLA))) == {"attention": by_hand, "norm": 5}


@pytest.mark.parametrize(
    ("gated", "bias", "expected"),
    [
        (True, False, 3 * 8 * 6),
        (False, False, 2 * 8 * 6),
        (True, True, 3 * 8 * 6 + 2 * 6 + 8),
        (False, True, 2 * 8 * 6 + 6 + 8),
    ],
)
def test_mlp(gated: bool, bias: bool, expected: int) -> None:  # noqa: FBT001
    found = _count(Mlp(intermediate_size=6, gated=gated, bias=bias))
    assert _components(found) == {"mlp": expected}


def test_experts_of_which_half_stay_idle() -> None:
    found = _count(Moe(**MOE), times=5)
    assert _components(found) == {"router": 5 * 4 * 8, "experts": 5 * 4 * 3 * 8 * 3}
    assert found.active == found.total - 5 * 2 * 3 * 8 * 3


def test_experts_without_a_gate_have_two_matrices() -> None:
    found = _count(Moe(**MOE, gated=False, shared_intermediate_size=6))
    by_hand = {"router": 32, "experts": 4 * 2 * 8 * 3, "shared_expert": 2 * 8 * 6}
    assert _components(found) == by_hand


def test_router_and_expert_biases_count_and_idle_biases_do_not() -> None:
    found = _count(Moe(**MOE, router_bias=True, expert_bias=True))
    biases = 3 + 3 + 8
    assert _components(found) == {"router": 32 + 4, "experts": 4 * (72 + biases)}
    assert found.active == found.total - 2 * (72 + biases)


def test_shared_experts_are_always_active_and_their_gate_is_one_row() -> None:
    found = _count(Moe(**MOE, shared_intermediate_size=6, shared_gate=True))
    assert _components(found) == {"router": 32, "experts": 288, "shared_expert": 3 * 8 * 6 + 8}
    assert found.active == found.total - 144


def test_a_correction_bias_is_a_buffer_and_no_parameter() -> None:
    plain = _count(Moe(**MOE), times=3)
    corrected = _count(Moe(**MOE, correction_bias=True), times=3)
    assert (corrected.total, corrected.active) == (plain.total, plain.active)
    assert (plain.buffers, corrected.buffers, corrected.mtp_buffers) == (0, 3 * 4, 0)


@pytest.mark.parametrize(
    ("kind", "each"), [("rms", 8), ("layer", 16), ("layer_nobias", 8), ("none", 0)]
)
def test_norms_by_kind(kind: str, each: int) -> None:
    found = _count(Mlp(intermediate_size=6), norm=kind, norms=4, times=3, final_norm=True)
    assert found.components["norm"] == each * (4 * 3 + 1)


def test_norms_of_latents_are_rms_whatever_the_model_has() -> None:
    found = _count(LatentAttention(**MLA, q_lora_rank=6), norm="layer")
    assert found.components["norm"] == 6 + 5


def test_qk_norms_follow_the_model() -> None:
    found = _count(Attention(**GQA, qk_norm="head"), norm="layer")
    assert found.components["norm"] == 2 * (3 + 3)


def test_a_head_is_counted_once_when_tied_and_its_bias_is_not_tied() -> None:
    untied = _count(Mlp(intermediate_size=6), head=True, head_bias=True)
    tied = _count(
        Mlp(intermediate_size=6), head=True, head_bias=True, embedding=Embedding(tied=True)
    )
    assert _components(untied) == {"mlp": 144, "lm_head": 80 + 10}
    assert _components(tied) == {"mlp": 144, "lm_head": 10}
    assert (tied.buffers, untied.buffers) == (0, 0)


def test_positions_types_and_the_norm_of_the_embedding() -> None:
    embedding = Embedding(positions=20, types=2, norm=True)
    found = _count(Mlp(intermediate_size=6), embedding=embedding, norm="layer")
    assert found.components["embedding"] == (10 + 20 + 2) * 8
    assert found.components["norm"] == 16


def test_a_factorised_embedding_has_two_projections_with_a_head_and_one_without() -> None:
    narrow = Embedding(dim=4, tied=True, positions=20)
    with_head = _count(Mlp(intermediate_size=6), embedding=narrow, head=True)
    assert with_head.components["embedding"] == 10 * 4 + 20 * 8 + 2 * 4 * 8
    assert with_head.components["lm_head"] == 0
    assert _count(
        Mlp(intermediate_size=6), embedding=Embedding(dim=4)
    ).components["embedding"] == 10 * 4 + 4 * 8  # fmt: skip
    untied = _count(Mlp(intermediate_size=6), embedding=Embedding(dim=4), head=True)
    assert untied.components["lm_head"] == 10 * 4


def test_prediction_heads_are_apart_and_bring_their_own_tables() -> None:
    """Two norms, [d, 2·d], one block with its norms, a final norm; table and head where owned."""
    asked = {"norms": 2, "head": True}
    block = 32 + 288 + 16
    plain = _count(Moe(**MOE, correction_bias=True), **asked, mtp=Mtp(block="one", layers=2))
    assert plain.mtp == 2 * (3 * 8 + 8 * 16 + block)
    assert plain.mtp_buffers == 2 * 4
    assert plain.total == 80 + block + 80
    own = Mtp(block="one", own_embedding=True, own_head=True)
    assert _count(Moe(**MOE), **asked, mtp=own).mtp == 3 * 8 + 8 * 16 + block + 80 + 80
    assert _count(Moe(**MOE), **asked, mtp=own).total == plain.total


def test_extra_tensors_count_once_in_other() -> None:
    found = _count(Mlp(intermediate_size=6), times=7, extra=(Tensor(name="more", shape=(3, 5, 2)),))
    assert found.components["other"] == 30


def test_blocks_repeat_as_the_pattern_says() -> None:
    narrow, wide = (Block(parts=(Mlp(intermediate_size=n),), norms=0) for n in (2, 4))
    card = small_card(
        Mlp(intermediate_size=1), blocks={"a": narrow, "b": wide}, layers=("2*(2*a b)", "3*b")
    )
    assert count(lower(card)).components["mlp"] == 4 * 48 + 5 * 96


def test_parallel_parts_of_one_block_all_count() -> None:
    """A dense MLP beside experts, as Snowflake Arctic and Llama 4 have them."""
    found = _components(_count(Mlp(intermediate_size=6), Moe(**MOE), Attention(**GQA)))
    assert found == {"mlp": 144, "router": 32, "experts": 288, "attention": GQA_WEIGHTS}
