"""Cached bytes, by hand: heads, latents, windows, and formats of less than a byte."""

from __future__ import annotations

import pytest

from llmcalc.blueprint import lower
from llmcalc.engines.kv import KvProfile, Layers, profile
from llmcalc.engines.kv_format import KV_FORMATS, KvFormats
from llmcalc.spec.card import Block
from llmcalc.spec.parts import Attention, LatentAttention, Mlp
from tests.strategies import small_card

GQA = Attention(num_heads=4, num_kv_heads=2, head_dim=3, v_head_dim=5)
WINDOWED = Attention(num_heads=4, num_kv_heads=2, head_dim=3, v_head_dim=5, window=10)


def _alike(name: str) -> KvFormats:
    return KvFormats(keys=KV_FORMATS[name], values=KV_FORMATS[name])


MIXED = {"local": Block(parts=(WINDOWED,)), "global": Block(parts=(GQA,))}


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [("fp32", 32), ("bf16", 16), ("fp16", 16), ("fp8", 8), ("int8", 8), ("int4", 4)],
)
def test_key_value_heads_times_both_sizes(dtype: str, bits: int) -> None:
    assert KV_FORMATS[dtype].bits == bits
    found = profile(lower(small_card(GQA, times=3)), _alike(dtype))
    assert found.bytes_per_token == 3 * 2 * (3 + 5) * bits // 8
    assert found.sequence(7) == 7 * 3 * 2 * (3 + 5) * bits // 8


def test_an_odd_number_of_half_bytes_is_rounded_up_once_a_sequence() -> None:
    """MQA of 3 + 4 elements in int4: 3.5 bytes a token, 11 bytes for three tokens."""
    odd = Attention(num_heads=2, num_kv_heads=1, head_dim=3, v_head_dim=4)
    found = profile(lower(small_card(odd)), _alike("int4"))
    assert [found.sequence(tokens) for tokens in (1, 2, 3, 4)] == [4, 7, 11, 14]
    assert (found.bytes_per_token, found.bytes_per_token_beyond_windows) == (4, 4)


def test_latents_are_cached_once_whatever_the_heads() -> None:
    for heads in (1, 16):
        mla = LatentAttention(
            num_heads=heads, kv_lora_rank=5, qk_nope_head_dim=3, qk_rope_head_dim=2, v_head_dim=4
        )
        assert profile(lower(small_card(mla, times=2))).sequence(11) == 11 * 2 * (5 + 2) * 2


def test_a_layer_without_attention_caches_nothing() -> None:
    found = profile(lower(small_card(Mlp(intermediate_size=6))))
    assert (found.bytes_per_token, found.sequence(1_000), found.windows) == (0, 0, ())


@pytest.mark.parametrize(
    ("tokens", "kept"), [(1, 5), (10, 50), (11, 3 * 10 + 2 * 11), (100, 3 * 10 + 2 * 100)]
)
def test_windows_stop_growing_and_other_layers_go_on(tokens: int, kept: int) -> None:
    card = small_card(GQA, blocks=MIXED, layers=("local global local global local",))
    found = profile(lower(card))
    assert found.sequence(tokens) == kept * 2 * 8 * 2
    assert found.bytes_per_token == 5 * 2 * 8 * 2
    assert found.bytes_per_token_beyond_windows == 2 * 2 * 8 * 2
    assert found.windows == (10,)


def test_profiles_of_several_windows_stand_in_order() -> None:
    wide = Attention(num_heads=1, head_dim=2, window=30)
    card = small_card(
        GQA, blocks=MIXED | {"wide": Block(parts=(wide,))}, layers=("global wide local wide",)
    )
    found = profile(lower(card))
    assert found.layers == (
        Layers(window=10, keys=6, values=10),
        Layers(window=30, keys=4, values=4),
        Layers(window=None, keys=6, values=10),
    )  # fmt: skip
    assert found.sequence(20) == (16 * 10 + 8 * 20 + 16 * 20) * 2
    assert KvProfile(layers=()).sequence(9) == 0


@pytest.mark.parametrize(
    ("name", "block_bytes"),
    [("q8_0", 34), ("q5_1", 24), ("q5_0", 22), ("q4_1", 20), ("q4_0", 18), ("iq4_nl", 18)],
)
def test_ggml_formats_store_32_elements_with_their_scales(name: str, block_bytes: int) -> None:
    """A half-precision scale of 2 bytes, a minimum of 2 or high bits of 4 where there are any."""
    head = Attention(num_heads=2, num_kv_heads=1, head_dim=64)
    found = profile(lower(small_card(head)), _alike(name))
    assert found.sequence(3) == 3 * 2 * 2 * block_bytes


def test_keys_and_values_are_stored_apart() -> None:
    """q8_0 keys of 64: 68 bytes; q4_0 values of 32: 18 bytes."""
    head = Attention(num_heads=2, num_kv_heads=1, head_dim=64, v_head_dim=32)
    apart = KvFormats(keys=KV_FORMATS["q8_0"], values=KV_FORMATS["q4_0"])
    assert profile(lower(small_card(head)), apart).sequence(10) == 10 * (68 + 18)
    assert apart.name == "q8_0 keys, q4_0 values"
