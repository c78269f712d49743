"""Worked example r02: reinforcement learning of all weights of a 7B model."""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.api.plans import Asked, plan
from llmcalc.api.rlhf import Cast, Engine, RlhfResult, Run, rlhf
from llmcalc.api.setup import setup
from llmcalc.catalog.find import card, gpu
from llmcalc.catalog.recipes import algorithm

Worked = dict[str, dict[str, str]]


def _grpo(on: str, *, has_reward: bool = False, **asked: Any) -> RlhfResult:
    run = Run(
        algorithm=algorithm("grpo"),
        cast=Cast(policy=card("llama2-7b"), has_reward=has_reward),
        plan=plan(Asked(seq=1024, **asked)),
        engine=Engine(setup=setup(engine="vllm")),
    )
    (found,) = rlhf(run, gpu=gpu(on)).results
    assert isinstance(found, RlhfResult)
    return found


def test_r02_full_tuning_takes_170_gb_of_two_h20(worked: Worked) -> None:
    """While it trains; the engine takes what is left while sequences are made."""
    assert worked["r02"]["value"].startswith("about 170 GB on 2 x H20")
    for has_reward in (False, True):
        found = _grpo("h20", has_reward=has_reward, gpus=2, shard="fsdp")
        assert found.verdict in {"fits", "tight"}
        assert 2 * found.totals["train"] == pytest.approx(170e9, rel=0.1)


def test_r02_one_gpu_is_enough_for_lora_only(worked: Worked) -> None:
    assert worked["r02"]["value"].endswith("one GPU only with LoRA")
    assert worked["r02"]["article_value"] == "70 GB, one H100"
    for precision in ("bf16-mixed", "pure-bf16"):
        assert _grpo("h100", precision=precision).verdict == "no"
    assert _grpo("h20").verdict == "no"
    for one in ("h100", "h20"):
        assert _grpo(one, method="lora").verdict in {"fits", "tight"}
