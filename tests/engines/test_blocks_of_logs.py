"""Start-up logs of vLLM on GPUs (measurements/vllm.tsv): given the cache's bytes, its tokens.

Left out are rows whose log says less than it would take: v020 and v021 (Qwen3.5-122B) fit a cache
in fp8 with prefix caching to the block, but do not say so; v024 and v045 show the memory of one
rank and the blocks of a fuller one; v093 is a plug-in's own cache; the rest name models that the
catalog does not have.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest

import llmcalc
from llmcalc.blueprint.lower import lower
from llmcalc.blueprint.shard import Parallel, shard
from llmcalc.catalog import find
from llmcalc.engines.blocks import BlockPool, pool
from llmcalc.engines.kv_format import BF16, KvFormats
from llmcalc.spec.block_rules import BlockRules
from tests.engines.vllm_rules import FP8, GIB, V0, V1, V1_FIRST, V1_GROUPS, V1_LENGTH


@dataclass(frozen=True)
class Log:
    """A row, and what its free text means."""

    row: str
    card: str
    rules: BlockRules
    tp: int = 1
    formats: KvFormats = BF16

    def pool(self) -> BlockPool:
        """The cache of one rank."""
        ranks = shard(lower(find.card(self.card)), Parallel(tp=self.tp))
        return pool(ranks, self.formats, batched=8192, rules=self.rules)


UNIFORM = (
    Log("v002", "llama2-7b", V0), Log("v015", "qwen2.5-1.5b", V0), Log("v026", "phi-4", V0),
    Log("v027", "qwen2-vl-7b", V0), Log("v029", "qwen2.5-0.5b", V0),
    Log("v030", "r1-distill-qwen-7b", V0), Log("v034", "llama3-8b", V0),
    Log("v040", "qwen3-4b", V0), Log("v041", "qwen2.5-0.5b", V0), Log("v042", "qwen2.5-0.5b", V0),
    Log("v059", "opt-125m", V0), Log("v082", "llama3.1-70b", V1_GROUPS),
    Log("v084", "qwen3-8b", V1_GROUPS), Log("v085", "qwen3-30b-a3b", V1),
    Log("v089", "qwen2.5-7b", V1_GROUPS), Log("v090", "qwen3-8b", V1_FIRST),
    Log("v099", "deepseek-v3", V1_GROUPS, tp=8), Log("v100", "llama3.1-70b", V1_GROUPS, tp=4),
    Log("v102", "qwen3-30b-a3b", V1), Log("v106", "llama3.1-70b", V1_GROUPS, tp=2, formats=FP8),
    Log("v112", "llama3.1-70b", V1_GROUPS, tp=2),
)  # fmt: skip
HYBRID = (
    Log("v088", "qwen3-next-80b-a3b", V1_LENGTH), Log("v094", "gemma3-27b-text", V1_GROUPS),
    Log("v114", "qwen3.5-27b", V1_LENGTH, tp=2),
)  # fmt: skip


def _rows() -> dict[str, dict[str, str]]:
    file = Path(llmcalc.__file__).parent / "measurements" / "vllm.tsv"
    with file.open(encoding="utf-8", newline="") as lines:
        return {row["row_id"]: row for row in csv.DictReader(lines, delimiter="\t")}


ROWS = _rows()


def _measured_bytes_per_token(row: dict[str, str]) -> float:
    tokens = int(row["kv_tokens"] or 0) or int(row["gpu_blocks"]) * int(row["block_size"])
    return float(row["kv_avail_gib"]) * GIB / tokens


def _off(log: Log) -> float:
    row = ROWS[log.row]
    measured = _measured_bytes_per_token(row)
    return abs(log.pool().block_bytes / 16 / measured - 1)


@pytest.mark.parametrize("log", UNIFORM, ids=lambda log: log.row)
def test_bytes_per_token_are_those_of_the_log(log: Log) -> None:
    rounding = 0.005 / float(ROWS[log.row]["kv_avail_gib"])  # logs print hundredths of a GiB
    assert _off(log) <= rounding + 1e-4


def test_bytes_per_token_are_within_a_fifth_of_a_percent() -> None:
    assert median(_off(log) for log in UNIFORM) < 0.002


@pytest.mark.parametrize("log", HYBRID, ids=lambda log: log.row)
def test_hybrid_models_hold_as_many_tokens_as_the_log_says(log: Log) -> None:
    row, found = ROWS[log.row], log.pool()
    length, budget = int(row["concurrency_len"] or row["max_model_len"]), row["kv_avail_gib"]
    room = int(float(budget) * GIB)
    assert found.tokens(length, room) == pytest.approx(int(row["kv_tokens"]), rel=0.003)
    if row["max_concurrency_x"]:
        measured = float(row["max_concurrency_x"])
        assert found.concurrency(length, room) == pytest.approx(measured, rel=0.003)
