"""Memory of one GPU: parts, scratch space by hand, and limits against brute force."""

from __future__ import annotations

from itertools import pairwise
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.blueprint import lower
from llmcalc.blueprint.shard import Parallel
from llmcalc.catalog.data import quantization, runtime
from llmcalc.catalog.find import card
from llmcalc.engines import activations
from llmcalc.engines.holding import Grown
from llmcalc.engines.kv import KvProfile, Layers
from llmcalc.engines.kv_format import BF16, KV_FORMATS, KvFormats
from llmcalc.engines.largest import largest
from llmcalc.engines.limits import largest_batch, largest_context
from llmcalc.engines.memory import Start
from llmcalc.engines.scratch import WidestLayer
from llmcalc.engines.serving import Place, serve
from llmcalc.engines.stage import Stage, fullest
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, Mlp, Moe
from llmcalc.spec.runtime import LayerScratch
from llmcalc.spec.settings import Settings
from tests.strategies import cards, small_card

GENERIC = serve(runtime("generic"), Settings(), Place())


def _stages(model: ModelCard, **ranks: int) -> tuple[Stage, ...]:
    return Start(
        ledger=lower(model),
        format=quantization("bf16"),
        kv=BF16,
        serving=GENERIC,
        parallel=Parallel(**ranks),
    ).stages()


def test_the_widest_part_of_a_layer_decides() -> None:
    """Attention puts out 12 + 6 + 6 + 8, the MLP 3 times 20 less 12: both end at the residual."""
    attention = Attention(num_heads=4, num_kv_heads=2, head_dim=3)
    assert activations.widest(lower(small_card(attention, Mlp(intermediate_size=20)))) == 48
    assert activations.widest(lower(small_card(attention, Mlp(intermediate_size=8)))) == 32
    assert activations.widest(lower(small_card(attention))) == 32


def test_experts_put_out_as_many_rows_as_a_token_visits() -> None:
    moe = Moe(num_experts=8, num_experts_per_tok=3, intermediate_size=5)
    # router 8, gate and up 3 · 5 each, down 3 · 8
    assert activations.widest(lower(small_card(moe))) == 8 + 15 + 15 + 24


@pytest.mark.parametrize(
    ("batch", "seq", "tokens"),
    [(1, 100, 100), (16, 100, 1_600), (16, 4_096, 2_048), (3_000, 1, 3_000), (3_000, 4_096, 3_000)],
)
def test_tokens_in_flight_are_a_chunk_or_one_of_each_sequence(
    batch: int, seq: int, tokens: int
) -> None:
    assert activations.tokens_in_flight(batch, seq, 2_048) == tokens


def test_parts_are_what_total_says_and_each_modelled_one_has_a_source() -> None:
    model = small_card(Attention(num_heads=4), Mlp(intermediate_size=20), head=True, vocab=1_000)
    (stage,) = _stages(model)
    parts = {part.name: part for part in stage.parts(3, 50)}
    assert parts["KV cache"].bytes == 3 * 50 * 2 * 8 * 2
    assert parts["live activations"].bytes == 150 * (2 * 8 + 48) * 2
    assert parts["logits"].bytes == 3 * 1_000 * 6
    assert parts["mlp"].bytes == 480 * 2
    assert sum(part.bytes for part in parts.values()) == stage.total(3, 50)
    assert all(part.source for part in parts.values() if part.basis == "modelled")
    assert "communication buffers" not in parts
    (shared,) = _stages(model, tp=4)
    assert "communication buffers" in {part.name for part in shared.parts(3, 50)}


def test_only_the_last_stage_has_logits() -> None:
    model = small_card(Mlp(intermediate_size=20), times=4, head=True, vocab=1_000)
    first, last = _stages(model, pp=2)
    logits = [
        part.bytes
        for stage in (first, last)
        for part in stage.parts(7, 10)
        if part.name == "logits"
    ]
    assert logits == [0, 7 * 1_000 * 6]
    assert fullest((first, last), 7, 10) is last


@given(cards(), st.integers(1, 9), st.integers(1, 5_000))
def test_parts_sum_to_the_total(model: ModelCard, batch: int, seq: int) -> None:
    for stage in _stages(model, pp=min(2, len(lower(model).order))):
        assert sum(part.bytes for part in stage.parts(batch, seq)) == stage.total(batch, seq)


@st.composite
def lines(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    """Kinks, the slope before each and after the last, and the need of n = 1."""
    kinks = sorted(draw(st.sets(st.integers(2, 150), max_size=4)))
    slopes = draw(st.lists(st.integers(0, 30), min_size=len(kinks) + 1, max_size=len(kinks) + 1))
    return kinks, slopes, draw(st.integers(0, 200))


@given(lines(), st.integers(1, 220), st.integers(-2, 5), st.integers(1, 200), st.integers(1, 9))
def test_largest_is_what_brute_force_finds(
    line: tuple[list[int], list[int], int], at: int, more: int, limit: int, divisor: int
) -> None:
    """Also where the need is rounded up, as a cache of half bytes is."""
    kinks, slopes, start = line

    def need(n: int) -> int:
        edges = [1, *kinks, max(n, 151)]
        grown = sum(
            slope * max(0, min(n, high) - low)
            for slope, (low, high) in zip(slopes, pairwise(edges), strict=True)
        )
        return start + ceil(grown / divisor)

    budget = need(at) + more
    by_hand = max((n for n in range(1, limit + 1) if need(n) <= budget), default=0)
    assert largest(need, budget, limit) == by_hand


@st.composite
def random_stages(draw: st.DrawFn) -> Stage:
    """A stage with a few windows, a chunk of the size of its sequences, and any format of cache."""
    windows: list[int | None] = sorted(draw(st.lists(st.integers(1, 60), unique=True, max_size=3)))
    if draw(st.booleans()):
        windows.append(None)
    layers = [
        Layers(window=one, keys=draw(st.integers(1, 40)), values=draw(st.integers(0, 40)))
        for one in windows
    ]
    names = st.sampled_from(["int4", "fp8", "bf16", "q8_0", "q5_1"])
    formats = KvFormats(keys=KV_FORMATS[draw(names)], values=KV_FORMATS[draw(names)])
    return Stage(
        weights={"mlp": 1},
        cache=Grown(profile=KvProfile(layers=tuple(layers), formats=formats)),
        scratch=WidestLayer(
            form=LayerScratch(form="layer", logits_bytes=6, source="by hand"),
            chunk=draw(st.integers(1, 80)), chunk_source="by hand",
            hidden_size=draw(st.integers(1, 9)), widest=draw(st.integers(1, 30)),
            head=draw(st.integers(0, 20)),
        ),
        taken=(),
        fixed=draw(st.integers(0, 3_000)),
    )  # fmt: skip


@given(random_stages(), st.integers(1, 90), st.integers(1, 120), st.integers(-3, 9))
def test_largest_batch_is_the_last_that_fits(stage: Stage, seq: int, at: int, more: int) -> None:
    budget = stage.total(at, seq) + more
    found = largest_batch(stage, GENERIC, budget, seq)
    assert found == 0 or stage.total(found, seq) <= budget
    assert stage.total(found + 1, seq) > budget


@given(random_stages(), st.integers(1, 40), st.integers(1, 220), st.integers(-3, 9))
def test_largest_context_is_the_last_that_fits(
    stage: Stage, batch: int, at: int, more: int
) -> None:
    limit, budget = 200, stage.total(batch, at) + more
    found = largest_context(stage, GENERIC, budget, batch, limit)
    by_hand = [seq for seq in range(1, limit + 1) if stage.total(batch, seq) <= budget]
    assert found == max(by_hand, default=0)


def test_without_a_limit_a_windowed_model_has_no_end() -> None:
    windowed = Attention(num_heads=4, window=10)
    (stage,) = _stages(small_card(windowed))
    assert largest_context(stage, GENERIC, stage.total(1, 5_000), 1, None) == 2**40


@pytest.mark.parametrize("name", ["llama2-7b", "gemma3-27b-text", "gpt-oss-20b"])
@pytest.mark.parametrize("room", [2**28, 2**31, 2**34, 2**37])
def test_limits_are_solved_in_a_few_evaluations_and_not_scanned(
    name: str, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, int]] = []
    before = Stage.held

    def counted(stage: Stage, batch: int, seq: int) -> int:
        calls.append((batch, seq))
        return before(stage, batch, seq)

    monkeypatch.setattr(Stage, "held", counted)
    (stage,) = _stages(card(name))
    for length in (4, 10, 100, 1_500, 5_000):
        largest_batch(stage, GENERIC, stage.fixed + room, length)
    for batch in (1, 3, 1_000):
        largest_context(stage, GENERIC, stage.fixed + room, batch, None)
    assert len(calls) <= 8 * 2 * 12  # each evaluation asks twice: for the budget, and the device
