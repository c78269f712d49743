"""What sequences take from a pool, and the bytes of its contents against logs of SGLang."""

from __future__ import annotations

import pytest

from llmcalc.blueprint import lower
from llmcalc.blueprint.parallel import Parallel
from llmcalc.blueprint.shard import shard
from llmcalc.catalog.data import quantization
from llmcalc.catalog.find import card
from llmcalc.engines.held_pool import Pooled, in_pool
from llmcalc.engines.kv_format import KV_FORMATS, KvFormats
from llmcalc.engines.serving import Serving
from llmcalc.engines.token_pool import Contents, Rules, fill, pool_bytes
from llmcalc.engines.weights import by_group
from llmcalc.spec.runtime import PoolCache
from llmcalc.spec.settings import Settings
from tests.engines.test_token_pool import GEMMA4_26B_FP8, QWEN35_27B


def _contents(name: str, kv: str, **ranks: int) -> Contents:
    (rank,) = shard(lower(card(name)), Parallel(**ranks))
    formats = KvFormats(keys=KV_FORMATS[kv], values=KV_FORMATS[kv])
    serving = Serving(runtime=None, settings=Settings())  # type: ignore[arg-type]  only settings matter
    return in_pool(PoolCache(form="pool"), rank, formats, serving).contents


def test_contents_follow_from_the_card() -> None:
    assert _contents("qwen3.5-27b", "bf16") == QWEN35_27B
    assert _contents("qwen3.5-27b", "fp8").token == QWEN35_27B.token // 2
    assert _contents("gemma4-26b-a4b", "fp8") == GEMMA4_26B_FP8
    assert _contents("llama3.1-8b", "bf16") == Contents(token=131_072)
    assert _contents("qwen2.5-0.5b", "bf16") == Contents(token=12_288)


def test_latents_beside_an_indexer() -> None:
    """GLM-5 has 78 layers: 656 and 132 bytes a token in float8 (row s003), else 1152 and 132."""
    assert _contents("glm-5", "fp8").token == 78 * (656 + 132)
    assert _contents("glm-5", "bf16").token == 78 * (1152 + 132)


def test_groups_that_attend_apart_hold_whole_latents() -> None:
    """Kimi-K2 on 32 ranks (row s008): 61 layers of 576 numbers."""
    assert _contents("kimi-k2", "bf16", tp=32, attention_dp=32, ep=32).token == 61 * 576 * 2


def test_a_pool_from_configuration_alone() -> None:
    """Row s019: Qwen3.8-27B in float8, shaped like Qwen3.5-27B, on an H100 at 0.85.

    79.11 GiB less 0.6 of driver context, as rows s002 and s023 have about that much less than
    their GPUs before they load; 330323 tokens in 2 · 10.08 GiB, and 124 slots, were printed.
    """
    weights = by_group(lower(card("qwen3.5-27b")), quantization("fp8-block"))
    room = pool_bytes(
        before=int((79.11 - 0.6) * 2**30), fraction=0.85, weights=sum(weights.values()), reserved=0
    )
    pool = fill(room, _contents("qwen3.5-27b", "bf16"), Rules())
    assert pool.tokens == pytest.approx(330_323, rel=0.01)
    assert pool.cache_bytes / 2**30 == pytest.approx(2 * 10.08, rel=0.01)
    assert pool.slots == pytest.approx(124, rel=0.02)


def test_tokens_that_sequences_take() -> None:
    plain = Pooled(contents=Contents(token=10), rules=Rules(page=16))
    assert plain.cache(2, 17) == 2 * 32 * 10
    assert plain.state(2) == 0
    assert plain.tokens(3205, 32) == 320
    assert plain.concurrency(3205, 17) == 10.0


def test_a_pool_for_windows_grows_with_what_is_not_in_them() -> None:
    """Windows have room for 0.8 of the tokens, however few they keep of each sequence."""
    hybrid = Pooled(contents=Contents(token=10, window_token=5), rules=Rules(), windows=(8,))
    assert hybrid.cache(1, 100) == 100 * (10 + 4)
    # Three tokens are inside the window: the share of 4 tokens.
    assert hybrid.cache(1, 3) == 4 * (10 + 4)
    assert hybrid.concurrency(1400, 100) == 1.0


def test_states_and_tokens_keep_their_proportion() -> None:
    """Four slots, one of them spare, of 90 bytes go with 400 bytes of tokens."""
    mixed = Pooled(contents=Contents(token=1, slot=90), rules=Rules())
    assert (mixed.state(1), mixed.cache(1, 100), mixed.cache(1, 500)) == (360, 400, 500)
    assert mixed.concurrency(761, 100) == pytest.approx(1.0)
