"""Bytes of weights under a quantisation policy, scales counted by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.data import quantization
from llmcalc.engines.weights import by_group
from llmcalc.spec.card import Embedding, Mtp, Tensor
from llmcalc.spec.parts import Attention, Mlp, Moe, Part
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


def test_int4_shares_twenty_bits_a_group_of_128_along_the_row() -> None:
    """300 inputs make three groups a row, the last of 44."""
    found = _bytes("int4", Mlp(intermediate_size=7, gated=False), d=300)
    up, down = 7 * 300 * 4 + 7 * 3 * 20, 300 * 7 * 4 + 300 * 1 * 20
    assert found["mlp"] == -(-(up + down) // 8)


def test_int4_of_an_odd_number_of_weights_is_rounded_up() -> None:
    found = _bytes("int4", Mlp(intermediate_size=1, gated=False), d=1)
    assert found["mlp"] == -(-2 * (4 + 20) // 8)
    half = replace(quantization("int4"), scale_bits=0, group=None)
    one = by_group(lower(small_card(Mlp(intermediate_size=3, gated=True), d=1)), half)
    assert one["mlp"] == 5  # nine weights of half a byte


def test_a_tied_head_takes_no_memory_twice_and_extra_tensors_do() -> None:
    mlp = Mlp(intermediate_size=6)
    found = _bytes("bf16", mlp, head=True, head_bias=True, embedding=Embedding(tied=True))
    assert found == {"embedding": 160, "mlp": 288, "head": 20}
    extra = _bytes("int8", mlp, extra=(Tensor(name="more", shape=(3, 5)),))
    assert extra["other weights"] == 30


def test_prediction_heads_are_not_loaded() -> None:
    mlp = Mlp(intermediate_size=6)
    assert _bytes("bf16", mlp, head=True, mtp=Mtp(block="one")) == _bytes("bf16", mlp, head=True)
