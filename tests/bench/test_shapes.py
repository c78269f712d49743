"""Matrices and caches of a card, counted by hand."""

from __future__ import annotations

import pytest

from llmcalc.bench.matmul import weights_gb_s
from llmcalc.bench.shapes import CacheShape, Matrix, cache_shape, matrices
from llmcalc.catalog.find import card
from llmcalc.spec.measurement import Dtype, MatmulRate


def test_llama3_8b() -> None:
    """32 layers of q, o 4096², k, v 1024 × 4096, gate, up 14336 × 4096, down, and the head."""
    assert set(matrices(card("llama3-8b"))) == {
        Matrix(n=14336, k=4096, times=64),
        Matrix(n=4096, k=14336, times=32),
        Matrix(n=4096, k=4096, times=64),
        Matrix(n=1024, k=4096, times=64),
        Matrix(n=128256, k=4096, times=1),
    }
    assert sum(one.elements for one in matrices(card("llama3-8b"))) == 7_504_658_432
    found = cache_shape(card("llama3-8b"))
    assert found == CacheShape(heads=32, kv_heads=8, qk_dim=128, v_dim=128)
    assert found.elements == 2 * 8 * 128


def test_experts_count_as_often_as_a_token_visits_them() -> None:
    """Mixtral: two of eight, three matrices each, 32 layers."""
    found = {(one.n, one.k): one.times for one in matrices(card("mixtral-8x7b"))}
    assert found[14336, 4096] == 2 * 2 * 32
    assert found[4096, 14336] == 2 * 32


def test_a_latent_is_one_head_whose_values_are_among_its_keys() -> None:
    found = cache_shape(card("deepseek-v3"))
    assert found == CacheShape(heads=128, kv_heads=1, qk_dim=576, v_dim=512, shared=True)
    assert found.elements == 576


def test_a_model_without_attention_has_no_cache() -> None:
    assert cache_shape(card("rwkv4-7b")) is None


SHAPES = (Matrix(n=100, k=10, times=3), Matrix(n=10, k=100, times=1))


def rate(n: int, k: int, seconds: float, *, m: int = 1, dtype: Dtype = "bf16") -> MatmulRate:
    return MatmulRate(
        m=m, n=n, k=k, dtype=dtype, kernel="linear", tflop_s=1, gb_s=1, seconds=seconds,
        seconds_p10=seconds, seconds_p90=seconds,
    )  # fmt: skip


def test_the_bandwidth_of_all_weights_is_their_bytes_over_their_time() -> None:
    # by hand: 4000 elements of two bytes in 3 · 1 µs + 2 µs
    rates = [rate(100, 10, 1e-6), rate(10, 100, 2e-6), rate(100, 10, 9.0, m=2)]
    assert weights_gb_s(SHAPES, rates, "bf16", 1) == pytest.approx(8000 / 5e-6 / 1e9)


def test_without_the_greater_part_there_is_none() -> None:
    assert weights_gb_s(SHAPES, [rate(10, 100, 2e-6)], "bf16", 1) is None
    assert weights_gb_s(SHAPES, [rate(100, 10, 1e-6)], "bf16", 1) == pytest.approx(2.0)
    assert weights_gb_s(SHAPES, [rate(100, 10, 1e-6)], "fp32", 1) is None
