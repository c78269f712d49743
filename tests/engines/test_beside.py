"""What is loaded beside a model, each by hand: towers, adapters, drafts, shared prefixes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmcalc.blueprint import lower
from llmcalc.blueprint.shard import Parallel, shard
from llmcalc.catalog.data import quantization, runtime
from llmcalc.catalog.find import card
from llmcalc.engines.beside import NOTHING, Beside, adapter_slots
from llmcalc.engines.kv_format import BF16
from llmcalc.engines.memory import Start
from llmcalc.engines.serving import Place, serve
from llmcalc.engines.stage import Stage
from llmcalc.spec.card import Block, ModelCard, Mtp, Stack, Tower
from llmcalc.spec.parts import Attention, Mlp, Moe
from llmcalc.spec.settings import Settings
from tests.strategies import small_card

ATTENTION = Attention(num_heads=4, num_kv_heads=2, head_dim=3)
"""Of width 8: queries 8 to 12, keys and values 8 to 6 each, output 12 to 8."""

MLP = Mlp(intermediate_size=20)
WEIGHTS = 8 * 12 + 2 * 8 * 6 + 12 * 8 + 3 * 8 * 20
CACHED = 2 * 2 * 3
"""Elements of a token in one layer."""

ENDS = (8 + 12) + 2 * (8 + 6) + (12 + 8) + 3 * (8 + 20)
MODEL = small_card(ATTENTION, MLP, times=5)
SEES = Block(parts=(Attention(num_heads=2), Mlp(intermediate_size=10, gated=False)))
"""Of width 6, queries, keys, values and output are 6 each, together wider than 10 + 6."""

ALONE = Parallel()
EYE = Tower(
    name="eye", stack=Stack(hidden_size=6, blocks={"sees": SEES}, layers=("3*sees",)),
    patches_per_token=4,
)  # fmt: skip


def stages(model: ModelCard, beside: Beside, parallel: Parallel = ALONE) -> tuple[Stage, ...]:
    return Start(
        ledger=lower(model), format=quantization("bf16"), kv=BF16,
        serving=serve(runtime("generic"), Settings(), Place()), parallel=parallel,
        beside=beside,
    ).stages()  # fmt: skip


def parts(model: ModelCard, beside: Beside, batch: int = 1, seq: int = 10) -> dict[str, int]:
    """Bytes of each part on the one rank, which its total must hold too."""
    (stage,) = stages(model, beside)
    found = stage.parts(batch, seq)
    assert sum(part.bytes for part in found) == stage.total(batch, seq)
    return {part.name: part.bytes for part in found}


@pytest.mark.parametrize(("patches", "bytes"), [(1, 7 * 36 * 2), (4, 28 * 36 * 2), (9, 4_536)])
def test_a_tower_sees_several_patches_for_each_token(patches: int, bytes: int) -> None:
    """Residual stream, its normed copy and four outputs of width 6: 36 elements a patch."""
    model = replace(MODEL, towers=(replace(EYE, patches_per_token=patches),))
    assert parts(model, Beside(encoder_tokens=7))["encoder at work"] == bytes


def test_the_tower_that_needs_most_decides() -> None:
    """12 frames a token of 2 · 4 + 16 elements are more than 4 patches a token of 36."""
    hears = Stack(hidden_size=4, blocks={"sees": SEES}, layers=("sees",))
    ear = Tower(name="ear", modality="audio", stack=hears, patches_per_token=12)
    both = replace(MODEL, towers=(EYE, ear))
    assert parts(both, Beside(encoder_tokens=7))["encoder at work"] == 7 * 12 * (8 + 16) * 2


def test_a_tower_that_nobody_itemised_or_that_rests_takes_no_workspace() -> None:
    bare = replace(MODEL, towers=(Tower(name="eye", params=900, patches_per_token=4),))
    assert "encoder at work" not in parts(bare, Beside(encoder_tokens=7))
    assert "encoder at work" not in parts(MODEL, Beside(encoder_tokens=7))
    assert "encoder at work" not in parts(replace(MODEL, towers=(EYE,)), NOTHING)


def test_an_image_in_a_real_tower() -> None:
    """Gemma 3 averages 4,096 patches to 256 tokens.

    SigLIP is 1,152 wide; queries, keys, values and output together are 4,608 elements, its MLP
    4,304 + 1,152 = 5,456, so a patch takes 2 · 1,152 + 5,456 = 7,760 of them.
    """
    (at_work,) = Beside(encoder_tokens=256).parts(lower(card("gemma3-4b")))
    assert at_work.bytes == 4_096 * 7_760 * 2


def test_slots_of_adapters_span_both_ends_of_each_linear_layer() -> None:
    """Three adapters of rank 4: A reads what the layer reads, B writes what it writes."""
    assert adapter_slots(Beside(adapters=3, rank=4), lower(MODEL)) == 5 * ENDS * 3 * 4 * 2
    assert parts(MODEL, Beside(adapters=3, rank=4))["LoRA adapters"] == 5 * ENDS * 24
    assert "LoRA adapters" not in parts(MODEL, NOTHING)


def test_routed_experts_the_head_and_towers_take_no_adapters() -> None:
    """A shared expert of 6 does, whose three matrices have 3 · (8 + 6) ends."""
    experts = Moe(
        num_experts=4, num_experts_per_tok=2, intermediate_size=5, shared_intermediate_size=6
    )
    model = small_card(ATTENTION, experts, head=True, towers=(EYE,))
    slots = adapter_slots(Beside(adapters=1, rank=1), lower(model))
    assert slots == ((8 + 12) + 2 * (8 + 6) + (12 + 8) + 3 * (8 + 6)) * 2


def test_a_rank_has_slots_for_its_cut_of_each_layer() -> None:
    """On two ranks queries end at 6, keys and values at 3, the MLP at 10; width 8 stays whole."""
    (rank,) = shard(lower(MODEL), Parallel(tp=2))
    ends = (8 + 6) + 2 * (8 + 3) + (6 + 8) + 3 * (8 + 10)
    assert adapter_slots(Beside(adapters=2, rank=16), rank) == 5 * ends * 2 * 16 * 2


def test_a_draft_is_stored_and_cached_as_the_model_is() -> None:
    """Two layers and a table of 10 rows in 16 bits, and their keys and values of each token."""
    draft = lower(small_card(ATTENTION, MLP, times=2))
    found = parts(MODEL, Beside(draft=draft), batch=3, seq=50)
    assert found["draft model"] == (2 * WEIGHTS + 10 * 8) * 2
    assert found["cache of draft model"] == 3 * 50 * 2 * CACHED * 2
    assert found["KV cache"] == 3 * 50 * 5 * CACHED * 2


def test_prediction_heads_are_layers_that_store_and_cache() -> None:
    """Each of two heads: a projection 2 · 8 to 8, three norms of 8, and a layer."""
    model = replace(MODEL, mtp=Mtp(block="one", layers=2))
    found = parts(model, Beside(mtp=True), batch=3, seq=50)
    assert found["multi-token prediction"] == 2 * (2 * 8 * 8 + 3 * 8 + WEIGHTS) * 2
    assert found["cache of multi-token prediction"] == 3 * 50 * 2 * CACHED * 2
    assert "multi-token prediction" not in parts(model, NOTHING)
    assert "multi-token prediction" not in parts(MODEL, Beside(mtp=True))


def test_the_last_stage_proposes_tokens() -> None:
    draft = lower(small_card(ATTENTION, MLP))
    first, last = stages(small_card(ATTENTION, MLP, times=4), Beside(draft=draft), Parallel(pp=2))
    assert [len(stage.drafts) for stage in (first, last)] == [0, 1]
    assert last.held(3, 50) == 3 * 50 * (2 + 1) * CACHED * 2


def test_tensor_ranks_cut_a_draft_too() -> None:
    """Half the weights of a layer, half the table, one of two heads of keys and values."""
    draft = lower(small_card(ATTENTION, MLP))
    (stage,) = stages(MODEL, Beside(draft=draft), Parallel(tp=2))
    (held,) = stage.drafts
    assert held.weights == (WEIGHTS // 2 + 5 * 8) * 2
    assert held.cache.cache(3, 50) == 3 * 50 * CACHED // 2 * 2


@pytest.mark.parametrize(
    ("batch", "seq", "prefix", "tokens"),
    [
        (1, 100, 30, 100),  # one sequence shares with nobody
        (5, 100, 30, 5 * 70 + 30),
        (5, 100, 0, 500),
        (5, 20, 30, 20),  # shorter than the prefix, all the same
    ],
)
def test_a_shared_prefix_is_cached_once(batch: int, seq: int, prefix: int, tokens: int) -> None:
    found = parts(MODEL, Beside(shared_prefix=prefix), batch, seq)
    assert found["KV cache"] == tokens * 5 * CACHED * 2


@pytest.mark.parametrize(
    ("seq", "prefix", "tokens"),
    [
        (100, 30, 5 * 10),  # the last ten tokens of each are its own
        (34, 30, 5 * 4 + 6),  # of the last ten, six are of the prefix
        (8, 5, 5 * 3 + 5),  # the window is not full yet
        (20, 30, 10),
    ],
)
def test_a_window_shares_what_it_still_sees_of_the_prefix(
    seq: int, prefix: int, tokens: int
) -> None:
    model = small_card(replace(ATTENTION, window=10), MLP, times=5)
    found = parts(model, Beside(shared_prefix=prefix), 5, seq)
    assert found["KV cache"] == tokens * 5 * CACHED * 2


def test_each_kind_of_layer_shares_what_it_sees() -> None:
    """Two layers that see all keep 5 · 4 + 30 tokens, three with a window of ten 5 · 4 + 6."""
    blocks = {"all": Block(parts=(ATTENTION,)),
              "near": Block(parts=(replace(ATTENTION, window=10),))}  # fmt: skip
    model = replace(MODEL, blocks=blocks, layers=("2*all", "3*near"))
    found = parts(model, Beside(shared_prefix=30), 5, 34)
    assert found["KV cache"] == (2 * 50 + 3 * 26) * CACHED * 2


def test_a_draft_shares_the_prefix_too() -> None:
    draft = lower(small_card(ATTENTION, MLP, times=2))
    found = parts(MODEL, Beside(draft=draft, shared_prefix=30), 5, 100)
    assert found["cache of draft model"] == (5 * 70 + 30) * 2 * CACHED * 2
