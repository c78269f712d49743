"""Pools of tokens and states against start-up logs of SGLang.

Rows are those of llmcalc/measurements/sglang.tsv. What a log prints as memory before the pool goes
in as it is printed, so these are tests of how the room is divided; the contents are worked out by
hand from the published shapes.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.engines.token_pool import Contents, Pool, Rules, fill, pool_bytes

GIB = 2**30

QWEN35_27B = Contents(
    # 16 layers with 4 heads of 256; 48 with 48 float32 states of 128 · 128 and the last 3 inputs
    # of 2 · 16 + 48 heads of 128 channels.
    token=16 * 4 * 2 * 256 * 2,
    slot=48 * (48 * 128 * 128 * 4 + (2 * 16 + 48) * 128 * 3 * 2),
)
QWEN35_9B_HALF = Contents(
    token=8 * 2 * 2 * 256 * 2, slot=24 * (16 * 128 * 128 * 4 + (2 * 8 + 16) * 128 * 3 * 2)
)
LFM2_700M = Contents(token=6 * 8 * 2 * 64 * 2, slot=10 * 1536 * 2 * 2)
GEMMA4_26B_FP8 = Contents(token=5 * 2 * 2 * 512, window_token=25 * 8 * 2 * 256)


def _gib(size: int) -> float:
    return round(size / GIB, 2)


def _room(after: float, weights: float, fraction: float) -> int:
    """Of what a log prints before and after loading."""
    return pool_bytes(
        before=int((after + weights) * GIB), fraction=fraction, weights=int(weights * GIB),
        reserved=0,
    )  # fmt: skip


def test_states_and_tokens_share_a_gpu() -> None:
    """Row s019: an H100, mem_fraction_static 0.85; printed 124 slots of 0.34 + 17.58 GiB."""
    pool = fill(_room(50.01, 28.47, 0.85), QWEN35_27B, Rules())
    assert abs(pool.slots - 124) <= 1
    assert _gib(125 * QWEN35_27B.slot) == pytest.approx(0.34 + 17.58, abs=0.01)
    assert pool.tokens == pytest.approx(330_323, rel=0.005)
    assert pool.cache_bytes / GIB == pytest.approx(2 * 10.08, rel=0.005)


def test_slots_that_are_asked_for_leave_the_rest_to_tokens() -> None:
    """Row s022: mem_fraction_static 0.8, 32 sequences without a radix cache."""
    pool = fill(_room(59.87, 51.86, 0.8), QWEN35_27B, Rules(), slots=32)
    assert pool.state_bytes == 33 * QWEN35_27B.slot
    assert pool.tokens == pytest.approx(535_124, rel=0.005)
    assert pool.cache_bytes / GIB == pytest.approx(2 * 16.33, rel=0.005)


def test_small_states_take_as_large_a_part() -> None:
    """Row s013: 16 GB; (16376 - 512 - 1.5 · 2048 - 2 · 8 - 128) / 16376 is 0.772 of it."""
    pool = fill(_room(13.81, 1.52, 0.772), LFM2_700M, Rules())
    assert pool.slots == pytest.approx(85_292, rel=0.003)
    assert pool.tokens == pytest.approx(473_854, rel=0.003)
    assert (pool.state_bytes / GIB, pool.cache_bytes / GIB) == (
        pytest.approx(4.88, rel=0.003), pytest.approx(2 * 2.71, rel=0.003),
    )  # fmt: skip


def test_the_division_between_states_and_tokens() -> None:
    """Row s006, two GPUs: whatever the room was, 5.0 GiB of tokens go with 186 slots."""
    pool = fill(int((2 * 2.5 + 0.1 + 4.38) * GIB), QWEN35_9B_HALF, Rules())
    assert abs(pool.slots - 186) <= 1
    assert pool.tokens == pytest.approx(327_310, rel=0.003)


def test_windows_have_a_share_of_the_tokens() -> None:
    """Row s026: 37081 tokens and 29664 in windows take 3.18 GiB."""
    pool = fill(int(3.1828 * GIB), GEMMA4_26B_FP8, Rules())
    assert (pool.tokens, pool.window_tokens) == (
        pytest.approx(37_081, rel=0.001), pytest.approx(29_664, rel=0.001),
    )  # fmt: skip
    asked = fill(10 * GIB, GEMMA4_26B_FP8, Rules(), most_tokens=37_081)
    assert (asked.tokens, asked.window_tokens) == (37_081, 29_664)
    assert _gib(asked.cache_bytes) == 3.18


@pytest.mark.parametrize(
    ("token", "page", "tokens", "printed", "parts"),
    [
        # s003, GLM-5: 78 layers of 512 float8, 4 scales and 64 bfloat16, and a key of 128 float8
        # with its scale; pages of 64.
        (78 * (512 + 4 * 4 + 2 * 64 + 128 + 4), 64, 131_072, 7.51, 1),
        (61 * (512 + 64) * 2, 128, 76_416, 5.01, 1),  # s008, Kimi-K2.6
        (16 * 4 * 2 * 256, 1, 1_206_208, 36.81, 1),  # s011, Qwen3.5-27B, float8
        (32 * 8 * 2 * 128 * 2, 1, 20_480, 1.25, 2),  # s017, Llama-3.1-8B: keys and values apart
        (24 * 2 * 2 * 64 * 2, 1, 20_480, 0.12, 2),  # s002, Qwen2.5-0.5B
        (28 * 2 * 2 * 128 * 2, 1, 1_178_703, 15.74, 2),  # s023, Qwen2.5-1.5B
    ],
)
def test_bytes_of_tokens_that_are_asked_for(
    token: int, page: int, tokens: int, printed: float, parts: int
) -> None:
    pool = fill(200 * GIB, Contents(token=token), Rules(page=page), most_tokens=tokens)
    assert pool.tokens == tokens
    assert _gib(pool.cache_bytes // parts) == printed


def test_an_older_start_without_states() -> None:
    """Row s023: an A100 of 40 GB at mem_fraction_static 0.9, which the log does not state."""
    pool = fill(_room(35.36, 3.51, 0.9), Contents(token=28 * 2 * 2 * 128 * 2), Rules())
    assert pool.tokens == pytest.approx(1_178_703, rel=0.001)


def test_by_hand() -> None:
    contents = Contents(token=10, window_token=5, slot=100)
    # Of 1900 bytes states may have 900: 9 slots, one of them spare; the rest makes 1000 / (10 + 4).
    assert fill(1900, contents, Rules()) == Pool(
        tokens=71, window_tokens=56, slots=8, cache_bytes=72 * 10 + 57 * 5, state_bytes=900
    )
    paged = fill(1900, contents, Rules(page=16))
    assert (paged.tokens, paged.window_tokens) == (64, 48)
    only_windows = fill(1000, Contents(token=0, window_token=5), Rules())
    assert (only_windows.tokens, only_windows.window_tokens) == (200, 200)
    assert fill(50, contents, Rules()) == Pool(
        tokens=0, window_tokens=0, slots=0, cache_bytes=15, state_bytes=100
    )


@given(
    st.integers(1, 10**12), st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**9),
    st.sampled_from([1, 16, 64]),
)  # fmt: skip
def test_a_pool_stays_within_its_room_but_for_pages_of_padding(
    room: int, token: int, window_token: int, slot: int, page: int
) -> None:
    pool = fill(room, Contents(token=token, window_token=window_token, slot=slot), Rules(page=page))
    padding = page * (token + window_token)
    assert pool.cache_bytes + pool.state_bytes <= max(room, slot) + padding
