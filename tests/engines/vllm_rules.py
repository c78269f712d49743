"""How vLLM's engines lay out caches, as tests of blocks name them."""

from __future__ import annotations

from llmcalc.catalog.data import runtime
from llmcalc.engines.kv_format import KV_FORMATS, KvFormats
from llmcalc.spec.block_rules import BlockRules


def _rules(name: str) -> BlockRules:
    rules = runtime(name).cache
    assert isinstance(rules, BlockRules)
    return rules


V0 = _rules("vllm-v0")
V1 = _rules("vllm")
V1_FIRST = _rules("vllm-0.8")
V1_GROUPS = _rules("vllm-v1")
V1_LENGTH = _rules("vllm-0.21")

GIB = 2**30
FP8 = KvFormats(keys=KV_FORMATS["fp8"], values=KV_FORMATS["fp8"])
