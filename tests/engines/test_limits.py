"""How far a budget goes, by hand and against the totals it was solved from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmcalc.catalog.data import runtime
from llmcalc.engines.holding import Grown
from llmcalc.engines.kv import KvProfile, Layers
from llmcalc.engines.limits import Limits, Shape, least, within_cache, within_memory
from llmcalc.engines.scratch import WidestLayer
from llmcalc.engines.serving import Place, serve
from llmcalc.engines.stage import Stage
from llmcalc.spec.runtime import LayerScratch
from llmcalc.spec.settings import Settings

GENERIC = serve(runtime("generic"), Settings(), Place())
STAGE = Stage(
    weights={"mlp": 900},
    cache=Grown(profile=KvProfile(layers=(Layers(window=None, keys=2, values=2),))),
    scratch=WidestLayer(
        form=LayerScratch(form="layer", logits_bytes=6, source="by hand"),
        chunk=10, chunk_source="by hand", hidden_size=2, widest=6, head=5,
    ),
    taken=(), fixed=1_000,
)  # fmt: skip
"""8 B a cached token; 20 B a token in flight, at most 10 of them; 30 B of logits a sequence."""

SHAPE = Shape(batch=2, seq=100, longest=50, limit=400)


def test_weights_scratch_and_cache_share_the_memory() -> None:
    found = within_memory(STAGE, SHAPE, GENERIC, 3_000)
    needed = 1_000 + 2 * 100 * 8 + 10 * 20 + 2 * 30
    assert (found.budget, found.free) == (3_000, 3_000 - needed)
    # 3,000 − 1,000 − 200 − 60 are left for the cache: 4.35 sequences of 50 tokens of 8 B.
    assert found.kv_tokens == 1_740 // 8 == 217
    assert found.max_concurrency == pytest.approx(4.35)
    # 1,200 + 830 a sequence; 1,000 + 200 + 60 + 16 a token
    assert (found.max_batch, found.max_context) == (2, 108)


def test_the_model_ends_what_memory_does_not() -> None:
    assert within_memory(STAGE, SHAPE, GENERIC, 10**9).max_context == 400
    assert within_cache(STAGE, SHAPE, 10**9).max_context == 400


def test_a_budget_below_the_weights_holds_nothing() -> None:
    found = within_memory(STAGE, SHAPE, GENERIC, 900)
    assert (found.kv_tokens, found.max_concurrency, found.max_batch, found.max_context) == (
        0, 0, 0, 0,
    )  # fmt: skip
    assert found.free < 0


def test_a_budget_for_the_cache_alone() -> None:
    found = within_cache(STAGE, SHAPE, 2_000)
    assert (found.budget, found.free) == (2_000, 400)
    assert (found.kv_tokens, found.max_concurrency) == (250, 5)
    assert (found.max_batch, found.max_context) == (2, 125)


def test_the_tightest_stage_decides_and_replicas_multiply() -> None:
    roomy, tight = (
        within_memory(STAGE, SHAPE, GENERIC, 9_000),
        within_memory(STAGE, SHAPE, GENERIC, 3_000),
    )
    found = least([roomy, tight, roomy], 3)
    assert (found.budget, found.free) == (3_000, tight.free)
    assert (found.kv_tokens, found.max_batch) == (3 * 217, 3 * 2)
    assert found.max_concurrency == 3 * tight.max_concurrency
    assert found.max_context == 108


def test_each_limit_is_that_of_the_stage_with_least_of_it() -> None:
    """A stage with few sequences at once may still have more left free than another."""
    few = Limits(
        budget=9, free=50, kv_room=9, kv_tokens=10, max_concurrency=1.0, max_batch=5, max_context=70
    )
    many = Limits(
        budget=9, free=-7, kv_room=9, kv_tokens=99, max_concurrency=8.0, max_batch=3, max_context=90
    )
    found = least([few, many], 2)
    assert (found.free, found.max_batch, found.max_context) == (-7, 6, 70)
    assert (found.kv_tokens, found.max_concurrency) == (20, 2.0)


def test_what_leaves_nothing_behind_has_no_room_to_run_out_of() -> None:
    none = replace(STAGE, cache=Grown(profile=KvProfile(layers=())))
    found = within_memory(none, SHAPE, GENERIC, 3_000)
    assert (found.kv_tokens, found.max_concurrency) == (None, None)
    tight = within_memory(STAGE, SHAPE, GENERIC, 3_000)
    assert least([found, tight], 1).kv_tokens == tight.kv_tokens
    assert least([found, found], 2).max_concurrency is None
    state = replace(STAGE, cache=Grown(profile=KvProfile(layers=(), state=5)))
    found = within_memory(state, SHAPE, GENERIC, 3_000)
    assert (found.kv_tokens, found.max_concurrency) == (None, 174.0)  # 1,740 over 5 x 2 bytes
