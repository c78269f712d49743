"""What our functions say to a row of vllm_live.tsv: they see what was asked, nothing measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from llmcalc.blueprint.lower import lower
from llmcalc.catalog import find
from llmcalc.engines.blocks import BlockPool, pool
from llmcalc.engines.kv_format import BF16, KV_FORMATS, KvFormats
from llmcalc.spec.block_rules import BlockRules

ROWS = Path(__file__).parents[3] / "llmcalc" / "measurements" / "vllm_live.tsv"
GIB = 2**30

ON_CPU = replace(BlockRules(), block_size=128, latent_block_size=16, steps_ahead=0)
"""vLLM's CPU build: blocks of 128 tokens, 16 for latents, and no step scheduled ahead
(vllm/platforms/cpu.py, 0.32.0); all else is as on a GPU."""

_FP8 = KvFormats(keys=KV_FORMATS["fp8"], values=KV_FORMATS["fp8"])
_DEFAULT_BATCHED = 4096


def pool_of(row: dict[str, str]) -> BlockPool:
    """The cache that the engine was asked about."""
    rules = replace(
        ON_CPU,
        block_size=int(row["block_size"] or ON_CPU.block_size),
        hybrid=row["hybrid"] == "yes",
        prefix_caching=row["prefix_caching"] == "yes",
        expanded_latents=row["model"] == "minicpm3-4b",
        state_bytes=4 if row["state_dtype"] == "float32" else None,
    )
    formats = _FP8 if row["kv_cache_dtype"] == "fp8" else BF16
    batched = int(row["max_num_batched_tokens"] or _DEFAULT_BATCHED)
    return pool((lower(find.card(row["model"])),), formats, batched=batched, rules=rules)


def budget_of(row: dict[str, str]) -> int:
    """Bytes given to the cache."""
    return int(row["kv_gib"]) * GIB
