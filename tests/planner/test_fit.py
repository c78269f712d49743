"""The planner: more devices never need more memory each, and what it solves is what it needs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.blueprint import lower
from llmcalc.blueprint.shard import Parallel, shard
from llmcalc.catalog.data import quantization, runtime
from llmcalc.catalog.find import card
from llmcalc.engines.kv import profile
from llmcalc.engines.kv_format import BF16, KV_FORMATS, KvFormats
from llmcalc.engines.memory import Start
from llmcalc.engines.params import count
from llmcalc.engines.serving import Place, serve
from llmcalc.engines.weights import by_group
from llmcalc.errors import ImpossibleError
from llmcalc.planner.fit import Ask, Planner, judged, served
from llmcalc.planner.splits import splits
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Mlp
from llmcalc.spec.runtime import Overhead
from llmcalc.spec.settings import Settings
from tests.strategies import cards, small_card

GIB = 2**30
ONE = Overhead(name="one", bytes=1, source="by hand")
LEAN = replace(runtime("generic"), overheads=(ONE, replace(ONE, when="several")))
"""Without overheads that would drown the differences between small models."""
ASK = Ask(
    batch=4, seq=512, capacity=80 * GIB, gpus=1, weights=quantization("bf16"), kv=BF16,
    runtime=LEAN, settings=Settings(max_num_batched_tokens=64),
)  # fmt: skip


@given(cards())
def test_components_sum_and_active_is_total_but_for_idle_experts(model: ModelCard) -> None:
    found = count(lower(model))
    assert sum(found.components.values()) == found.total
    assert 0 < found.active <= found.total
    if not found.components["experts"] and not model.towers:
        assert found.active == found.total


@given(cards(), st.sampled_from(sorted(KV_FORMATS)), st.integers(1, 700), st.integers(0, 700))
def test_a_cache_grows_and_stands_still_beyond_every_window(
    model: ModelCard, kv: str, tokens: int, more: int
) -> None:
    format = KV_FORMATS[kv]
    found = profile(lower(model), KvFormats(keys=format, values=format))
    assert found.sequence(tokens) <= found.sequence(tokens + more)
    if all(layers.window for layers in found.layers):
        edge = max(found.windows, default=1)
        assert found.sequence(edge) == found.sequence(edge + 1 + more)


@given(cards(), st.sampled_from(["fp32", "bf16", "fp16", "fp8", "int8", "int4"]))
def test_quantised_weights_are_never_larger(model: ModelCard, name: str) -> None:
    ledger = lower(model)
    small, wide = (by_group(ledger, quantization(each)) for each in (name, "fp32"))
    assert small.keys() == wide.keys()
    assert all(small[group] <= wide[group] for group in wide)
    if quantization(name).bits <= 8:
        plain = by_group(ledger, quantization("bf16"))
        assert sum(small.values()) <= sum(plain.values())


@given(cards(), st.integers(1, 9), st.integers(1, 2_000))
def test_more_gpus_never_need_more_each(model: ModelCard, batch: int, seq: int) -> None:
    planner = Planner(lower(model), None)
    needs = [
        planner.fit(replace(ASK, batch=batch, seq=seq, gpus=gpus)).needed for gpus in range(1, 17)
    ]
    # Communication buffers come with the second device: one alone may be the best of two.
    assert needs == sorted(needs, reverse=True)


@given(cards(), st.integers(1, 40), st.integers(1, 900), st.integers(0, 40), st.integers(0, 900))
def test_more_work_never_needs_less(
    model: ModelCard, batch: int, seq: int, more: int, longer: int
) -> None:
    planner = Planner(lower(model), None)
    ask = replace(ASK, batch=batch, seq=seq, gpus=2)
    needed = planner.fit(ask).needed
    assert planner.fit(replace(ask, batch=batch + more)).needed >= needed
    assert planner.fit(replace(ask, seq=seq + longer)).needed >= needed


@given(cards(), st.integers(1, 9), st.integers(1, 900), st.integers(0, 2**21), st.integers(1, 4))
def test_what_is_solved_fits_and_one_more_does_not(
    model: ModelCard, batch: int, seq: int, room: int, gpus: int
) -> None:
    planner = Planner(lower(model), 5_000)
    ask = replace(ASK, batch=batch, seq=seq, gpus=gpus)
    fixed = planner.fit(replace(ask, batch=1, seq=1))
    ask = replace(ask, capacity=fixed.needed + room, parallel=fixed.parallel)
    found, dp = planner.fit(ask), fixed.parallel.dp
    at_batch = [found.max_batch, found.max_batch + dp]
    if found.max_batch:
        assert planner.fit(replace(ask, batch=at_batch[0])).needed <= ask.capacity
    assert planner.fit(replace(ask, batch=at_batch[1])).needed > ask.capacity
    if found.max_context:
        assert planner.fit(replace(ask, seq=found.max_context)).needed <= ask.capacity
    if found.max_context < 5_000:
        assert planner.fit(replace(ask, seq=found.max_context + 1)).needed > ask.capacity
    assert found.free == ask.capacity - found.needed
    assert found.stage.total(found.batch, found.seq) == found.needed


@pytest.mark.parametrize(
    ("needed", "verdict"), [(900, "fits"), (901, "tight"), (1_000, "tight"), (1_001, "no")]
)
def test_verdicts_at_their_edges(needed: int, verdict: str) -> None:
    assert judged(needed, 1_000) == verdict
    generic = serve(LEAN, Settings(), Place())
    assert served(needed, needed - 1_000, generic, 1_000) == verdict


@pytest.mark.parametrize(
    ("needed", "verdict"), [(500, "fits"), (501, "tight"), (1_000, "tight"), (1_001, "no")]
)
def test_within_the_share_that_an_engine_was_given_a_model_fits(needed: int, verdict: str) -> None:
    half = serve(LEAN, Settings(gpu_memory_utilization=0.5), Place())
    assert served(needed, needed - 500, half, 1_000) == verdict


def test_a_shorter_context_limit_is_said_and_is_a_no() -> None:
    planner = Planner(lower(card("llama2-7b")), 4_096)
    found = planner.fit(replace(ASK, seq=8_192))
    assert (found.verdict, found.limit, found.seq, found.max_context) == (
        "no", "context", 4_096, 4_096,
    )  # fmt: skip
    assert found.needed == planner.fit(replace(ASK, seq=4_096)).needed


@pytest.mark.parametrize(
    ("name", "batch", "seq", "capacity", "limit"),
    [("llama2-7b", 1, 512, 80, "nothing"), ("llama2-7b", 1, 512, 10, "weights"),
     ("llama2-7b", 64, 4_096, 80, "kv_cache"), ("llama2-7b", 33, 4_096, 80, "kv_cache"),
     # 256,000 logits of 6 B each against 18,432 B of cache
     ("gemma-2b", 4_096, 1, 10, "activations")],
)  # fmt: skip
def test_what_runs_out(name: str, batch: int, seq: int, capacity: int, limit: str) -> None:
    planner = Planner(lower(card(name)), 4_096)
    found = planner.fit(replace(ASK, batch=batch, seq=seq, capacity=capacity * GIB))
    assert found.limit == limit


def test_replicas_share_the_batch_rounded_up() -> None:
    planner = Planner(lower(card("llama2-7b")), 4_096)
    split = Parallel(dp=3)
    found = planner.fit(replace(ASK, batch=7, gpus=3, parallel=split))
    assert found.batch == 3
    one = planner.fit(replace(ASK, batch=3))
    assert found.needed == one.needed
    assert found.max_batch == 3 * one.max_batch


def test_a_replica_counts_the_sequences_it_really_has() -> None:
    """Three sequences of 14 GB: a replica holds two and all weights, a rank half of both."""
    planner = Planner(lower(card("llama2-7b")), None)
    found = planner.fit(replace(ASK, batch=3, seq=27_000, gpus=2))
    assert found.parallel == Parallel(tp=2)
    assert planner.fit(replace(ASK, batch=3, seq=100, gpus=2)).parallel == Parallel(tp=2)


def test_one_planner_keeps_its_splits_apart() -> None:
    """Mixtral-8x7B: four expert ranks hold two of the eight experts each."""
    planner = Planner(lower(card("mixtral-8x7b")), None)
    whole = planner.fit(replace(ASK, gpus=4, parallel=Parallel(dp=4))).needed
    dealt = planner.fit(replace(ASK, gpus=4, parallel=Parallel(dp=4, ep=4))).needed
    experts = 32 * 8 * 3 * 4_096 * 14_336 * 2
    assert whole - dealt > experts * 3 // 4 - 10**8
    assert (
        planner.fit(
            replace(ASK, kv=KvFormats(keys=KV_FORMATS["fp8"], values=KV_FORMATS["fp8"]))
        ).needed
        < planner.fit(ASK).needed
    )
    assert planner.fit(replace(ASK, weights=quantization("int4"))).needed < 30 * GIB


def test_stages_are_compared_by_the_one_that_needs_most() -> None:
    """A wide vocabulary makes the ends of two stages heavy, so half of everything is less."""
    model = small_card(Mlp(intermediate_size=64), d=64, vocab=100_000, times=2)
    planner = Planner(lower(model), None)
    found = planner.fit(replace(ASK, batch=1, seq=1, gpus=2))
    assert found.parallel == Parallel(tp=2)
    assert found.needed == found.stage.total(1, 1)


def test_splits_stay_in_a_node_and_cover_fewer_devices_too() -> None:
    found = list(splits(lower(card("llama2-7b")), 16))
    assert {each.tp for each in found} == {1, 2, 4, 8}
    assert all(each.gpus <= 16 and each.ep == 1 for each in found)
    assert Parallel(tp=1, pp=1, dp=16) in found
    assert Parallel(tp=8, pp=2, dp=1) in found
    assert Parallel(tp=4, pp=3, dp=1) in found


@given(cards(), st.integers(1, 16))
def test_every_split_is_possible(model: ModelCard, gpus: int) -> None:
    ledger = lower(model)
    for each in splits(ledger, gpus):
        assert shard(ledger, each)
        assert each.gpus <= gpus


def test_an_asked_split_that_does_not_divide_is_refused() -> None:
    planner = Planner(lower(card("llama2-7b")), 4_096)
    with pytest.raises(ImpossibleError):
        planner.fit(replace(ASK, parallel=Parallel(tp=3)))


def test_stages_are_worked_out_once_a_split(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Parallel] = []
    before = Start.stages
    monkeypatch.setattr(
        Start, "stages", lambda start: calls.append(start.parallel) or before(start)
    )
    planner = Planner(lower(small_card(Mlp(intermediate_size=8))), None)
    for batch in range(1, 1_001):
        planner.fit(replace(ASK, batch=batch, gpus=1))
    assert calls == [Parallel()]
