"""Bytes of weights under a quantisation policy, scales counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.blueprint import lower
from llmcalc.blueprint.shard import Parallel, shard
from llmcalc.catalog.data import quantization
from llmcalc.catalog.find import card, cards
from llmcalc.engines.weights import by_group, by_tensor
from llmcalc.formula import recording
from llmcalc.spec.card import Embedding, Mtp, Tensor, Tower
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe, Part
from tests.api.evaluate import evaluated
from tests.strategies import small_card

GQA = Attention(num_heads=4, num_kv_heads=2, head_dim=3, v_head_dim=5, qkv_bias=True, sinks=True)


def _bytes(format: str, *parts: Part, **more: Any) -> dict[str, int]:
    return by_group(lower(small_card(*parts, **more)), quantization(format))


@pytest.mark.parametrize(("format", "bytes"), [("fp32", 4), ("bf16", 2), ("fp16", 2)])
def test_plain_formats_store_every_weight_alike(format: str, bytes: int) -> None:
    found = _bytes(format, GQA, Mlp(intermediate_size=6), norms=2, head=True)
    assert found == {
        "embedding": 80 * bytes, "norms": 16 * bytes, "attention": (384 + 28 + 4) * bytes,
        "mlp": 144 * bytes, "head": 80 * bytes,
    }  # fmt: skip


def test_int8_has_a_float32_scale_an_output_row_and_keeps_the_rest_in_16_bits() -> None:
    found = _bytes("int8", GQA, Mlp(intermediate_size=6), norms=2, head=True, times=3)
    rows = 4 * 3 + 2 * 3 + 2 * 5 + 8
    assert found == {
        "embedding": 160, "head": 160, "norms": 3 * 16 * 2,
        "attention": 3 * (384 + 4 * rows + 2 * (28 + 4)),
        "mlp": 3 * (144 + 4 * (6 + 6 + 8)),
    }  # fmt: skip


def test_fp8_has_one_float32_scale_a_matrix_and_one_an_expert() -> None:
    moe = Moe(
        num_experts=4, num_experts_per_tok=2, intermediate_size=3, shared_intermediate_size=6,
        shared_gate=True, router_bias=True, expert_bias=True, correction_bias=True,
    )  # fmt: skip
    found = _bytes("fp8", moe, Attention(num_heads=4), times=2)
    assert found["attention"] == 2 * (4 * 64 + 4 * 4)
    assert found["experts"] == 2 * (288 + 3 * 4 * 4 + 2 * 4 * (3 + 3 + 8))
    assert found["shared expert"] == 2 * (144 + 3 * 4 + 2 * 8)
    # The router, its bias and the stored buffer stay as they are.
    assert found["router"] == 2 * 2 * (32 + 4 + 4)


def test_int4_has_a_scale_and_a_zero_point_for_128_inputs_of_a_row() -> None:
    """300 inputs make three groups a row, the last of 44."""
    found = _bytes("int4", Mlp(intermediate_size=7, gated=False), d=300)
    up, down = 7 * 300 // 2 + 7 * 3 * 2 + 11, 300 * 7 // 2 + 300 * 2 + 300 // 2
    assert found["mlp"] == up + down


def test_int4_of_an_odd_number_of_weights_is_rounded_up() -> None:
    found = _bytes("int4", Mlp(intermediate_size=1, gated=False), d=1)
    assert found["mlp"] == 2 * (1 + 2 + 1)


def test_a_group_size_behind_the_name_is_that_of_the_scales() -> None:
    """512 inputs: weights of half a byte, and scales of two bytes for 128 or 256 or 32 of them."""
    mlp = Mlp(intermediate_size=512, gated=False)
    for name, groups in (("w4a16", 4), ("w4a16-g256", 2), ("w4a16-g32", 16)):
        found = _bytes(name, mlp, d=512)
        assert found["mlp"] == 2 * (512 * 512 // 2 + 512 * groups * 2 + 16)
    assert _bytes("w8a16-g256", mlp, d=512)["mlp"] == 2 * (512 * 512 + 512 * 2 * 2 + 16)


def test_a_tied_head_takes_no_memory_twice_and_extra_tensors_do() -> None:
    mlp = Mlp(intermediate_size=6)
    found = _bytes("bf16", mlp, head=True, head_bias=True, embedding=Embedding(tied=True))
    assert found == {"embedding": 160, "mlp": 288, "head": 20}
    extra = _bytes("int8", mlp, extra=(Tensor(name="more", shape=(3, 5)),))
    assert extra["other weights"] == 30


def test_prediction_heads_are_not_loaded() -> None:
    mlp = Mlp(intermediate_size=6)
    assert _bytes("bf16", mlp, head=True, mtp=Mtp(block="one")) == _bytes("bf16", mlp, head=True)


MATRIX = Mlp(intermediate_size=384, gated=False)
"""Two matrices of 384 x 256 weights: 98,304 each."""
N = 384 * 256


@pytest.mark.parametrize(
    ("format", "up", "down"),
    [
        ("fp8", N + 4, N + 4),
        ("fp8-channel", N + 4 * 384, N + 4 * 256),
        ("fp8-block", N + 4 * 3 * 2, N + 4 * 2 * 3),
        ("w8a8", N + 4 * 384, N + 4 * 256),
        ("bnb-8bit", N + 4 * 384, N + 4 * 256),
        # qweight and qzeros in int32, scales in float16; GPTQ's index is an int32 an input
        ("awq", N // 2 + 384 * 2 * 2 + 384 * 2 // 2, N // 2 + 256 * 3 * 2 + 256 * 3 // 2),
        ("gptq", N // 2 + 384 * 2 * 2 + 384 + 4 * 256, N // 2 + 256 * 3 * 2 + 384 + 4 * 384),
        # blocks of 64, 256 of those a float32, tables of 16 and 256 float32, an offset
        ("nf4", N // 2 + 1536 + 4 * 6 + 64 + 1024 + 4, N // 2 + 1536 + 4 * 6 + 64 + 1024 + 4),
        ("nf4-single", N // 2 + 4 * 1536 + 64, N // 2 + 4 * 1536 + 64),
        ("nvfp4", N // 2 + N // 16 + 8, N // 2 + N // 16 + 8),
        # rows of 256 are a block, rows of 384 are not and fall back; 640 = 2.5 blocks
        ("q6_k", 384 * 210, 256 * 12 * 34),
        ("q5_k_s", 384 * 176, 256 * 12 * 24),
        ("q4_k_s", 384 * 144, 256 * 12 * 22),
        ("q3_k_s", 384 * 110, 256 * 12 * 18),
        ("iq4_xs", 384 * 136, 256 * 12 * 18),
        ("q8_0", 384 * 8 * 34, 256 * 12 * 34),
        ("q5_1", 384 * 8 * 24, 256 * 12 * 24),
        ("f16", 2 * N, 2 * N),
        ("f32", 4 * N, 4 * N),
    ],
)
def test_a_matrix_of_each_format_by_hand(format: str, up: int, down: int) -> None:
    ledger = lower(small_card(MATRIX, d=256))
    found = {one.name: one.bytes for one in by_tensor(ledger, quantization(format))}
    names = ("ffn_up", "ffn_down") if "ffn_up" in found else ("up_proj", "down_proj")
    assert (found[names[0]], found[names[1]]) == (up, down)


def test_mxfp4_is_for_experts_alone() -> None:
    moe = Moe(num_experts=4, num_experts_per_tok=2, intermediate_size=64)
    found = _bytes("mxfp4", moe, Attention(num_heads=4), d=32)
    assert found["experts"] == 4 * 3 * 64 * 32 * 17 // 32
    assert found["attention"] == 4 * 32 * 32 * 2


def test_a_block_of_scales_is_counted_whole() -> None:
    """130 x 129 weights lie in two times two tiles of 128 x 128."""
    found = _bytes("fp8-block", Mlp(intermediate_size=130, gated=False), d=129)
    assert found["mlp"] == 2 * (130 * 129 + 4 * 4)


def test_a_latent_is_stored_absorbed_in_gguf() -> None:
    """H 2, d_n 128, d_v 64, r_kv 256: rows of 128 cannot be Q4_K, rows of 256 can."""
    mla = LatentAttention(
        num_heads=2, kv_lora_rank=256, qk_nope_head_dim=128, qk_rope_head_dim=32, v_head_dim=64
    )
    ledger = lower(small_card(mla, d=256))
    found = {one.name: one for one in by_tensor(ledger, quantization("q4_k_s"))}
    assert found["attn_k_b"].shape == (2 * 256, 128)
    assert found["attn_k_b"].bytes == 2 * 256 * 4 * 22
    assert found["attn_v_b"].shape == (2 * 64, 256)
    assert found["attn_v_b"].bytes == 2 * 64 * 144
    (half,) = shard(ledger, Parallel(tp=2))
    shares = {one.name: one for one in by_tensor(half, quantization("q4_k_s"))}
    assert shares["attn_k_b"].bytes * 2 == found["attn_k_b"].bytes


def test_a_tied_table_is_stored_as_a_head_is() -> None:
    for tied, table in ((True, 210), (False, 144)):
        found = by_tensor(
            lower(small_card(MATRIX, d=256, head=True, embedding=Embedding(tied=tied))),
            quantization("q4_k_m"),
        )
        assert {one.name: one.bytes for one in found}["token_embd"] == 10 * table


def test_queries_keys_and_values_are_one_tensor_in_some_families() -> None:
    """Values alone would be Q6_K in the first layers; where all are one tensor, all are."""
    attention = Attention(num_heads=2, num_kv_heads=1, head_dim=256)
    policy = quantization("q4_k_m")
    for family, types in (
        ("bloom", {"attn_qkv": {"q6_k", "q4_k"}}),
        ("llama", {"attn_q": {"q4_k"}, "attn_v": {"q6_k", "q4_k"}}),
    ):
        model = small_card(attention, MATRIX, d=256, times=16, family=family)
        found: dict[str, set[str]] = {}
        for one in by_tensor(lower(model), policy):
            found.setdefault(one.name, set()).add(one.format.name)
        assert {name: found[name] for name in types} == types


def test_towers_are_kept_in_16_bits() -> None:
    tower = Tower(name="eye", modality="vision", params=1_000)
    for name, bytes_each in (("awq", 2), ("q4_k_m", 2), ("fp32", 4)):
        found = _bytes(name, MATRIX, d=256, towers=(tower,))
        assert found["vision tower"] == 1_000 * bytes_each


@pytest.mark.parametrize("format", ["q4_k_m", "iq2_m", "nf4", "gptq", "fp8-block", "mxfp4_moe"])
@pytest.mark.parametrize("name", ["gemma3-270m", "deepseek-v2-lite", "qwen3-30b-a3b"])
def test_the_worked_solution_adds_up(format: str, name: str) -> None:
    with recording() as steps:
        found = by_group(lower(card(name)), quantization(format))
    results = {step.name: step.result for step in steps}
    for step in steps:
        assert evaluated(step.text, step.values) == step.result
        # What stands for a step in a sum is that step's result.
        assert all(results.get(term, value) == value for term, value in step.values.items())
    assert steps[-1].name == "weights"
    assert steps[-1].result == sum(found.values())
    units = [step for step in steps if " · " in step.text]
    assert sum(step.result for step in units) == sum(found.values())
    assert all(step.source for step in units)


@pytest.mark.parametrize("format", ["bf16", "fp32"])
def test_numbers_alike_take_what_their_tensors_take(format: str) -> None:
    """The sum over tensors, group by group, on every card, whole and cut."""
    policy = quantization(format)
    for one_card in cards():
        ledger = lower(one_card)
        shares = [ledger, *shard(ledger, Parallel(pp=2))] if len(ledger.order) > 1 else [ledger]
        for one in shares:
            groups: dict[str, int] = {}
            for found in by_tensor(one, policy):
                groups[found.group] = groups.get(found.group, 0) + found.bytes
            assert by_group(one, policy) == groups, one_card.name
