"""Blocks of vLLM's cache: its own recorded answers, its users' logs, and hand calculations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmcalc.blueprint.lower import lower
from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.shard import Parallel, shard
from llmcalc.catalog import find
from llmcalc.engines.blocks import BlockPool, pool
from tests.engines.vllm_rules import FP8, GIB, V0, V1, V1_FIRST, V1_GROUPS, V1_LENGTH
from tests.oracles.vllm.collect import read
from tests.oracles.vllm.predicted import ROWS, budget_of, pool_of

ANSWERS = read(ROWS)
STARTED = [row for row in ANSWERS if row["kv_tokens"]]
REFUSED = [row for row in ANSWERS if row["needed_gib"]]


def ledger(name: str) -> Ledger:
    return lower(find.card(name))


def blocks_of(found: BlockPool) -> list[tuple[int, int]]:
    """Layers and tokens of a block, group by group."""
    return [(one.layers, one.layer.block) for one in found.groups]


@pytest.mark.parametrize("row", STARTED, ids=lambda row: f"{row['row_id']}-{row['model']}")
def test_recorded_answers_of_vllm_are_ours(row: dict[str, str]) -> None:
    found, length, budget = pool_of(row), int(row["max_model_len"]), budget_of(row)
    assert found.blocks(budget) == int(row["num_gpu_blocks"])
    assert found.tokens(length, budget) == int(row["kv_tokens"])
    concurrency = found.concurrency(length, budget)
    assert concurrency == pytest.approx(float(row["max_concurrency_x"]), abs=0.005001)
    if row["groups"]:
        sizes = [int(size) for size in row["groups"].split(", ")]
        assert len(sizes) == len(found.groups)
        states_apart = row["prefix_caching"] == "no"  # their blocks are then of the whole length
        attention = [one.layer for one in found.groups if one.layer.kind != "state"]
        ours = (
            [one.block for one in attention]
            if states_apart
            else [one.layer.block for one in found.groups]
        )
        assert not set(ours) - set(sizes)


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row['row_id']}-{row['model']}")
def test_recorded_refusals_name_our_bytes_and_our_longest_sequence(row: dict[str, str]) -> None:
    found, length, budget = pool_of(row), int(row["max_model_len"]), budget_of(row)
    assert found.bytes_of_request(length) / GIB == pytest.approx(
        float(row["needed_gib"]), abs=0.005
    )
    assert found.batch(length, budget) == 0
    assert found.longest(length, budget) == int(row["longest"])


def test_answers_cover_every_kind_of_cache() -> None:
    kinds = {one.layer.kind for row in ANSWERS for one in pool_of(row).groups}
    assert kinds == {"full", "sliding", "chunked", "state"}


@pytest.mark.parametrize(("rules", "gib"), [(V1_LENGTH, "45.79"), (V1, "70.79")])
def test_steps_ahead_hold_windows_open_since_0_26(rules: object, gib: str) -> None:
    """Gemma 4 31B, 32,768 tokens a step: https://github.com/vllm-project/vllm/issues/49878."""
    found = pool((ledger("gemma4-31b"),), batched=32768, rules=rules)  # type: ignore[arg-type]
    assert f"{found.bytes_of_request(262144) / GIB:.2f}" == gib


def test_tokens_up_to_0_20_are_the_blocks_of_one_group() -> None:
    """Qwen3.5-27B on 0.19.0: https://github.com/vllm-project/vllm/issues/40691."""
    found = pool((ledger("qwen3.5-27b"),), batched=16384, rules=V1_GROUPS)
    budget = 1487 * found.block_bytes
    assert found.tokens(32768, budget) == 290864
    assert found.concurrency(32768, budget) == pytest.approx(33.04, abs=0.005)


def test_windows_beside_full_layers_are_kept_whole_before_groups() -> None:
    found = pool((ledger("gemma3-27b-text"),), batched=8192, rules=V1_FIRST)
    assert blocks_of(found) == [(62, 16)]
    assert found.blocks_of_request(4000) == 250


def test_v0_counts_tokens_not_whole_blocks() -> None:
    found = pool((ledger("llama2-7b"),), batched=4096, rules=V0)
    assert found.block_bytes == 16 * 2 * 32 * 32 * 128 * 2
    assert found.concurrency(1000, 10 * found.block_bytes) == 160 / 1000


def test_v0_rounds_latents_up_to_256_bytes() -> None:
    rank = shard(ledger("deepseek-v3"), Parallel(tp=8))
    assert pool(rank, batched=4096, rules=V0).block_bytes == 16 * 61 * 1280
    assert pool(rank, batched=4096, rules=V1).block_bytes == 16 * 61 * 1152


def test_fewer_kv_heads_than_ranks_are_replicated() -> None:
    whole = ledger("qwen2.5-7b")  # 28 layers of 4 heads of 128
    sizes = [
        pool(shard(whole, Parallel(tp=tp)), batched=1, rules=V1).block_bytes
        // (16 * 28 * 2 * 128 * 2)
        for tp in (1, 2, 4)
    ]
    assert sizes == [4, 2, 1]
    eight = pool(shard(ledger("granite-3.0-1b-a400m"), Parallel(tp=16)), batched=1, rules=V1)
    assert eight.block_bytes == 16 * 24 * 2 * 64 * 2


def test_stages_share_the_blocks_of_the_tightest() -> None:
    stages = shard(ledger("llama3-8b"), Parallel(pp=2))
    found = pool(stages, batched=2048, rules=V1)
    assert found.stages == (16 * 16 * 4096, 16 * 16 * 4096)
    assert found.blocks(GIB, GIB // 2) == GIB // 2 // (16 * 16 * 4096)
    assert found.in_flight == 3 * 2048


def test_groups_span_stages() -> None:
    found = pool(shard(ledger("gemma2-2b"), Parallel(pp=2)), batched=2048, rules=V1)
    assert [one.layers for one in found.groups] == [13, 13]
    assert sum(found.stages) == 14 * 16 * 2 * 4 * 256 * 2  # 7 and 6 layers, and 6 and 7


def test_an_indexer_keeps_a_byte_an_element_and_scales() -> None:
    """https://github.com/vllm-project/vllm: 132 bytes a token; fp8_ds_mla has 656."""
    rank = (ledger("deepseek-v3.2"),)
    assert pool(rank, batched=1, rules=V1).block_bytes == 16 * 61 * (1152 + 132)
    assert pool(rank, FP8, batched=1, rules=V1).block_bytes == 16 * 61 * (656 + 132)


def test_cross_attention_takes_blocks_for_the_whole_encoder() -> None:
    found = pool(
        (ledger("whisper-large-v3"),), batched=448, rules=replace(V1, prefix_caching=False)
    )
    assert blocks_of(found) == [(32, 16), (32, 16)]
    assert found.blocks_of_request(448) == 28 + 94  # 1500 tokens in blocks of 16


def test_a_page_of_attention_holds_a_state() -> None:
    """Nemotron-H-8B: 128 · 64 · 128 in 32 bits and 3 · (8192 + 2048) in 16 over 4,096 a token."""
    found = pool((ledger("nemotron-h-8b"),), batched=8192, rules=V1)
    assert {block for _, block in blocks_of(found)} == {1040}
    assert (4194304 + 61440) / 4096 == 1039
    assert [one.blocks(8192, 8192) for one in found.groups].count(3) == len(found.groups) - 1


def test_latents_beside_states_stand_in_blocks_of_128() -> None:
    """Kimi Linear: 32 · 128 · 128 in 32 bits, 3 · 12288 in 16, over 1,152 bytes a token."""
    found = pool((ledger("kimi-linear-48b-a3b"),), batched=8192, rules=V1)
    assert 1792 < (2097152 + 73728) / 1152 < 1920
    assert {block for _, block in blocks_of(found)} == {1920}
    assert [layers for layers, _ in blocks_of(found)] == [7, 7, 6, 7]


def test_models_without_a_cache_hold_any_number() -> None:
    found = pool((ledger("bert-base-uncased"),), batched=512, rules=V1)
    assert (found.tokens(512, GIB), found.concurrency(512, GIB)) == (None, None)
    assert found.batch(512, GIB) is None
    assert found.longest(512, GIB) == 512


def test_one_block_is_never_given_out() -> None:
    found = pool((ledger("llama3-8b"),), batched=2048, rules=V1)
    budget = 4 * found.block_bytes
    assert found.longest(10**6, budget) == 3 * 16
    assert found.batch(16, budget) == 3
