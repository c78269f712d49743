"""`rlhf` as a library call: who is held when, by hand, and what a shared GPU leaves the engine."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from llmcalc.api.plans import Asked, plan
from llmcalc.api.rlhf import Cast, Engine, RlhfResult, Run, rlhf
from llmcalc.api.rlhf_result import RoleRow
from llmcalc.api.setup import setup
from llmcalc.catalog.find import card, gpu
from llmcalc.catalog.recipes import ALGORITHMS, algorithm
from llmcalc.errors import ImpossibleError, UsageError
from llmcalc.formula import evaluate, recording
from llmcalc.report.asjson import asjson
from llmcalc.spec.settings import Settings

N = 6_738_415_616
"""Llama 2 7B: 32 · (4 · 4096² + 3 · 4096 · 11,008 + 2 · 4096) + 2 · 32,000 · 4096 + 4096."""
SCALAR = N - 32_000 * 4096 + 4096
"""The same with one output in place of 32,000."""
GIB = 2**30


def _run(
    algo: str = "ppo",
    *,
    name: str = "llama2-7b",
    on: str | None = None,
    cast: dict[str, Any] | None = None,
    engine: dict[str, Any] | None = None,
    share: float | None = None,
    tp: int = 1,
    idle: bool = False,
    **asked: Any,
) -> RlhfResult:
    chosen = setup(engine="vllm", tp=tp, settings=Settings(gpu_memory_utilization=share))
    run = Run(
        algorithm=algorithm(algo),
        cast=Cast(policy=card(name), **(cast or {})),
        plan=plan(Asked(**asked)),
        engine=Engine(setup=chosen, **(engine or {})),
        idle_on_host=idle,
    )
    (found,) = rlhf(run, gpu=gpu(on) if on else None).results
    assert isinstance(found, RlhfResult)
    return found


def _roles(found: RlhfResult) -> dict[str, RoleRow]:
    return {row.role: row for row in found.roles}


@pytest.mark.parametrize(
    ("algo", "names"),
    [
        ("ppo", ["policy", "reference", "reward", "critic", "rollout"]),
        ("grpo", ["policy", "reference", "reward", "rollout"]),
        ("rloo", ["policy", "reference", "reward", "rollout"]),
        ("reinforce++", ["policy", "reference", "reward", "rollout"]),
        ("reinforce", ["policy", "reference", "reward", "rollout"]),
        ("dpo", ["policy", "reference"]),
        ("reward", ["reward"]),
    ],
)
def test_each_algorithm_holds_the_models_of_its_paper(algo: str, names: list[str]) -> None:
    assert [row.role for row in _run(algo).roles] == names


def test_ppo_holds_sixteen_bytes_a_parameter_twice_and_two_bytes_twice() -> None:
    roles = _roles(_run())
    states = {
        name: (row.weights, row.master_weights, row.optimizer)
        for name, row in ((name, one.per_gpu) for name, one in roles.items())
    }
    assert states["policy"] == (2 * N, 4 * N, 8 * N)
    assert states["critic"] == (2 * SCALAR, 4 * SCALAR, 8 * SCALAR)
    assert states["reference"] == (2 * N, 0, 0)
    assert states["reward"] == (2 * SCALAR, 0, 0)
    assert roles["policy"].params == N
    assert roles["critic"].params == roles["reward"].params == SCALAR
    # Folklore has (16 + 16 + 2 + 2) N; the heads of two models are gone.
    at_step = (16 + 2) * N + (16 + 2) * SCALAR
    assert sum(16 * one.params for one in roles.values() if one.trained) + 2 * (N + SCALAR) == (
        at_step
    )


def test_gradients_stand_only_while_a_model_trains() -> None:
    found = _run(seq=128)
    roles = _roles(found)
    assert roles["policy"].by_stretch["rollout"] == 14 * N
    assert roles["critic"].by_stretch["rollout"] == 14 * SCALAR
    assert roles["policy"].per_gpu.gradients == 2 * N
    # One of the two trains at a time, so its gradients are the only ones there.
    assert roles["critic"].by_stretch["train"] == 14 * SCALAR
    assert roles["policy"].by_stretch["train"] >= 16 * N


def test_zero3_deals_every_model_out() -> None:
    roles = _roles(_run(gpus=8, shard="zero3"))
    assert roles["policy"].by_stretch["rollout"] == pytest.approx(14 * N / 8, abs=64)
    assert roles["reference"].by_stretch["rollout"] == pytest.approx(2 * N / 8, abs=64)
    assert roles["reward"].by_stretch["rollout"] == pytest.approx(2 * SCALAR / 8, abs=64)
    assert roles["rollout"].per_gpu.weights == 2 * N  # an engine of one rank has it all


def test_zero2_leaves_frozen_models_whole() -> None:
    roles = _roles(_run(gpus=8, shard="zero2"))
    assert roles["reference"].per_gpu.weights == 2 * N
    assert roles["policy"].by_stretch["rollout"] == pytest.approx((2 + 12 / 8) * N, abs=64)


def test_grpo_drops_the_critic_and_rules_the_reward_model() -> None:
    ppo, grpo = _run(), _run("grpo")
    assert ppo.totals["rollout"] - grpo.totals["rollout"] >= 14 * SCALAR
    assert [row.role for row in _run("grpo", cast={"has_reward": False}).roles] == [
        "policy", "reference", "rollout",
    ]  # fmt: skip
    assert "reference" not in _roles(_run("grpo", cast={"has_reference": False}))


def test_dpo_scores_the_reference_over_what_the_policy_keeps() -> None:
    found = _run("dpo", seq=512)
    roles = _roles(found)
    assert (found.placement, set(found.totals), found.kv_tokens) == ("training", {"train"}, None)
    assert roles["reference"].per_gpu.weights == 2 * N
    # Chosen and rejected go through together: 2 · 512 tokens of 32,000 logits, 10 bytes each.
    assert roles["reference"].per_gpu.logits == 2 * 512 * 32_000 * 10
    assert roles["policy"].per_gpu.optimizer == 8 * N


def test_a_reward_model_has_no_logits() -> None:
    found = _run("reward", seq=512)
    assert _roles(found)["reward"].per_gpu.optimizer == 8 * SCALAR
    assert _roles(found)["reward"].per_gpu.logits < 2 * 512 * 20


def test_adapters_need_no_second_reference() -> None:
    found = _run("grpo", method="lora", rank=8)
    roles = _roles(found)
    assert roles["reference"].per_gpu.weights == 0
    assert roles["reference"].alive == ()
    assert roles["policy"].per_gpu.weights == pytest.approx(2 * N, rel=0.01)
    # 32 layers, rank 8 beside q, k, v, o of 4096 × 4096 and three of 4096 × 11,008, Adam 8 B.
    adapters = 32 * 8 * (4 * 2 * 4096 + 3 * (4096 + 11_008))
    assert roles["policy"].per_gpu.optimizer == 8 * adapters


def test_a_critic_with_adapters_trains_its_new_head_whole() -> None:
    roles = _roles(_run(method="lora", rank=8))
    adapters = 32 * 8 * (4 * 2 * 4096 + 3 * (4096 + 11_008))
    assert roles["critic"].per_gpu.optimizer == 8 * (adapters + 4096)


def test_the_cache_is_that_of_the_sequences_where_no_gpu_is_named() -> None:
    engine = _roles(_run("grpo", seq=2048, global_batch=4))["rollout"].per_gpu
    # 2 · 32 layers · 4096 · 2 bytes a token, 2048 being a multiple of a block.
    assert engine.kv_cache == 4 * 2048 * 2 * 32 * 4096 * 2
    assert engine.weights == 2 * N


def test_a_shared_gpu_with_sleep_is_a_maximum() -> None:
    found = _run(on="h200", gpus=8, shard="zero3", share=0.5)
    roles = _roles(found)
    assert found.placement == "colocated"
    assert found.peak == max(found.totals.values())
    assert roles["rollout"].alive == ("rollout", "sync")
    asleep = roles["rollout"].by_stretch["train"]
    assert asleep == roles["rollout"].per_gpu.runtime < GIB
    assert roles["rollout"].per_gpu.peak == pytest.approx(0.5 * (found.capacity or 0), abs=1 * GIB)


def test_a_shared_gpu_without_sleep_is_a_sum() -> None:
    asked = {"on": "h200", "gpus": 8, "shard": "zero3", "share": 0.3}
    slept, stays = _run(**asked), _run(**asked, engine={"sleeps": False})
    engine = _roles(stays)["rollout"].per_gpu
    for stretch in ("reward", "train"):
        assert stays.totals[stretch] - slept.totals[stretch] == engine.peak - engine.runtime
    assert stays.totals["rollout"] == slept.totals["rollout"]
    assert stays.peak > slept.peak


def test_the_engine_takes_what_the_others_leave() -> None:
    found = _run(on="a100-80", gpus=8, shard="zero3")
    assert found.capacity is not None
    # Nine tenths are taken comfortably, as vLLM itself takes 0.9.
    assert found.totals["rollout"] == int(0.9 * found.capacity)
    room = _roles(found)["rollout"].per_gpu.kv_cache
    assert found.kv_tokens == pytest.approx(room / 524_288, abs=16)
    ppo, grpo = found, _run("grpo", on="a100-80", gpus=8, shard="zero3")
    # The allocator's reserve is 5 % of what is held; a token is 524,288 bytes of cache.
    more = (grpo.kv_tokens or 0) - (ppo.kv_tokens or 0)
    assert more == pytest.approx(1.05 * 14 * SCALAR / 8 / 524_288, rel=0.02)


def test_without_sleep_the_engine_leaves_room_for_training() -> None:
    found = _run(on="a100-80", gpus=8, shard="zero3", engine={"sleeps": False})
    assert found.peak <= int(0.9 * (found.capacity or 0))
    assert found.peak_phase == "train"
    assert found.verdict == "fits"


def test_an_engine_of_its_own_gpus_has_them_whole() -> None:
    found = _run("grpo", on="a100-80", gpus=8, shard="zero3", engine={"gpus": 4})
    assert (found.placement, found.gpus, found.rollout_gpus) == ("split", 8, 4)
    assert found.gpu_memory_utilization == pytest.approx(0.92, abs=0.01)
    assert found.engine == _roles(found)["rollout"].per_gpu.peak
    assert all("rollout" not in row.alive or row.gpus in (4, 8) for row in found.roles)
    together = _run("grpo", on="a100-80", gpus=8, shard="zero3")
    assert (found.kv_tokens or 0) > (together.kv_tokens or 0)


def test_ranks_of_an_engine_share_its_weights() -> None:
    whole = _roles(_run("grpo", gpus=8, shard="zero3"))["rollout"].per_gpu.weights
    halves = _roles(_run("grpo", gpus=8, shard="zero3", tp=2))["rollout"].per_gpu.weights
    assert halves == pytest.approx(whole / 2, rel=0.001)


def test_models_on_the_host_leave_the_rollout_alone() -> None:
    found = _run(on="h100", gpus=8, shard="zero3", idle=True)
    roles = _roles(found)
    assert roles["policy"].by_stretch["rollout"] == 0
    assert roles["reference"].by_stretch["train"] == 0
    stays = _run(on="h100", gpus=8, shard="zero3")
    assert (found.kv_tokens or 0) > (stays.kv_tokens or 0)


def test_a_model_that_does_not_fit_is_told_so() -> None:
    found = _run(on="a100-80")  # 14 bytes of 7 billion are more than it has
    assert found.verdict == "no"
    assert (found.free or 0) < 0


def test_a_cache_below_one_sequence_does_not_fit() -> None:
    found = _run("grpo", on="a100-80", gpus=8, shard="zero3", share=0.17)
    assert (found.max_concurrency or 0) < 1
    assert found.verdict == "no"


def test_reward_and_critic_may_be_other_models() -> None:
    roles = _roles(_run(name="llama2-13b", cast={"reward": card("llama2-7b")}))
    assert (roles["reward"].model, roles["critic"].model) == ("llama2-7b", "llama2-7b")
    assert roles["reward"].per_gpu.weights == 2 * SCALAR


def test_stages_of_a_pipeline_hold_less() -> None:
    whole, half = _run("grpo"), _run("grpo", gpus=2, pp=2)
    assert half.totals["train"] < whole.totals["train"]


@pytest.mark.parametrize("algo", [one.name for one in ALGORITHMS.all()])
def test_parts_sum_up(algo: str) -> None:
    found = _run(algo, on="h200", gpus=8, shard="fsdp")
    for row in found.roles:
        held = json.loads(asjson_of(row.per_gpu))
        assert sum(size for name, size in held.items() if name != "peak") == held["peak"]
    for stretch in found.stretches:
        parts = sum(row.by_stretch.get(stretch.stretch, 0) for row in found.roles)
        assert parts == stretch.roles
        assert stretch.roles + stretch.process == stretch.total == found.totals[stretch.stretch]


def asjson_of(value: Any) -> str:
    """A dataclass as JSON."""
    return json.dumps(asdict(value))


def test_steps_add_up() -> None:
    run = Run(
        algorithm=algorithm("ppo"), cast=Cast(policy=card("llama2-7b")), plan=plan(Asked()),
        engine=Engine(setup=setup(engine="vllm", tp=1)),
    )  # fmt: skip
    with recording() as steps:
        report = rlhf(run)
    (result,) = json.loads(asjson(report))["results"]
    named = {step.name: step for step in steps}
    for stretch, total in result["totals"].items():
        step = named[f"{stretch}_total"]
        assert evaluate(step.text, step.values) == step.result == total


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="dpo makes no sequences"):
        _run("dpo", engine={"gpus": 4})
    with pytest.raises(ImpossibleError, match="multiple of --rollout-tp 3"):
        _run("ppo", tp=3)
    with pytest.raises(ImpossibleError, match="over the 4,096 tokens"):
        _run("ppo", seq=8192)
    with pytest.raises(ImpossibleError, match="--rollout-batch 0"):
        _run("ppo", engine={"batch": 0})
    with pytest.raises(UsageError, match="no algorithm named 'pppo'"):
        _run("pppo")
