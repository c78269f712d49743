"""`rlhf` as a library call: who is held when, by hand, and what a shared GPU leaves the engine."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from llmcalc.api.plans import Asked, plan
from llmcalc.api.rlhf import Cast, Engine, Run, rlhf
from llmcalc.api.setup import setup
from llmcalc.catalog.find import card
from llmcalc.catalog.recipes import ALGORITHMS, algorithm
from llmcalc.errors import ImpossibleError, UsageError
from llmcalc.formula import evaluate, recording
from llmcalc.report.asjson import asjson
from tests.api.rlhf_asked import GIB, SCALAR, N, roles, run


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
    assert [row.role for row in run(algo).roles] == names


def test_ppo_holds_sixteen_bytes_a_parameter_twice_and_two_bytes_twice() -> None:
    held = roles(run())
    states = {
        name: (row.weights, row.master_weights, row.optimizer)
        for name, row in ((name, one.per_gpu) for name, one in held.items())
    }
    assert states["policy"] == (2 * N, 4 * N, 8 * N)
    assert states["critic"] == (2 * SCALAR, 4 * SCALAR, 8 * SCALAR)
    assert states["reference"] == (2 * N, 0, 0)
    assert states["reward"] == (2 * SCALAR, 0, 0)
    assert held["policy"].params == N
    assert held["critic"].params == held["reward"].params == SCALAR
    # Folklore has (16 + 16 + 2 + 2) N; the heads of two models are gone.
    at_step = (16 + 2) * N + (16 + 2) * SCALAR
    assert sum(16 * one.params for one in held.values() if one.trained) + 2 * (N + SCALAR) == (
        at_step
    )


def test_gradients_stand_only_while_a_model_trains() -> None:
    found = run(seq=128)
    held = roles(found)
    assert held["policy"].by_stretch["rollout"] == 14 * N
    assert held["critic"].by_stretch["rollout"] == 14 * SCALAR
    assert held["policy"].per_gpu.gradients == 2 * N
    # One of the two trains at a time, so its gradients are the only ones there.
    assert held["critic"].by_stretch["train"] == 14 * SCALAR
    assert held["policy"].by_stretch["train"] >= 16 * N


def test_zero3_deals_every_model_out() -> None:
    held = roles(run(gpus=8, shard="zero3"))
    assert held["policy"].by_stretch["rollout"] == pytest.approx(14 * N / 8, abs=64)
    assert held["reference"].by_stretch["rollout"] == pytest.approx(2 * N / 8, abs=64)
    assert held["reward"].by_stretch["rollout"] == pytest.approx(2 * SCALAR / 8, abs=64)
    assert held["rollout"].per_gpu.weights == 2 * N  # an engine of one rank has it all


def test_zero2_leaves_frozen_models_whole() -> None:
    held = roles(run(gpus=8, shard="zero2"))
    assert held["reference"].per_gpu.weights == 2 * N
    assert held["policy"].by_stretch["rollout"] == pytest.approx((2 + 12 / 8) * N, abs=64)


def test_grpo_drops_the_critic_and_rules_the_reward_model() -> None:
    ppo, grpo = run(), run("grpo")
    assert ppo.totals["rollout"] - grpo.totals["rollout"] >= 14 * SCALAR
    assert [row.role for row in run("grpo", cast={"has_reward": False}).roles] == [
        "policy", "reference", "rollout",
    ]  # fmt: skip
    assert "reference" not in roles(run("grpo", cast={"has_reference": False}))


def test_dpo_scores_the_reference_over_what_the_policy_keeps() -> None:
    found = run("dpo", seq=512)
    held = roles(found)
    assert (found.placement, set(found.totals), found.kv_tokens) == ("training", {"train"}, None)
    assert held["reference"].per_gpu.weights == 2 * N
    # Chosen and rejected go through together: 2 · 512 tokens of 32,000 logits, 10 bytes each.
    assert held["reference"].per_gpu.logits == 2 * 512 * 32_000 * 10
    assert held["policy"].per_gpu.optimizer == 8 * N


def test_a_reward_model_has_no_logits() -> None:
    found = run("reward", seq=512)
    assert roles(found)["reward"].per_gpu.optimizer == 8 * SCALAR
    assert roles(found)["reward"].per_gpu.logits < 2 * 512 * 20


def test_adapters_need_no_second_reference() -> None:
    found = run("grpo", method="lora", rank=8)
    held = roles(found)
    assert held["reference"].per_gpu.weights == 0
    assert held["reference"].alive == ()
    assert held["policy"].per_gpu.weights == pytest.approx(2 * N, rel=0.01)
    # 32 layers, rank 8 beside q, k, v, o of 4096 × 4096 and three of 4096 × 11,008, Adam 8 B.
    adapters = 32 * 8 * (4 * 2 * 4096 + 3 * (4096 + 11_008))
    assert held["policy"].per_gpu.optimizer == 8 * adapters


def test_a_critic_with_adapters_trains_its_new_head_whole() -> None:
    held = roles(run(method="lora", rank=8))
    adapters = 32 * 8 * (4 * 2 * 4096 + 3 * (4096 + 11_008))
    assert held["critic"].per_gpu.optimizer == 8 * (adapters + 4096)


def test_the_cache_is_that_of_the_sequences_where_no_gpu_is_named() -> None:
    engine = roles(run("grpo", seq=2048, global_batch=4))["rollout"].per_gpu
    # 2 · 32 layers · 4096 · 2 bytes a token, 2048 being a multiple of a block.
    assert engine.kv_cache == 4 * 2048 * 2 * 32 * 4096 * 2
    assert engine.weights == 2 * N


def test_a_shared_gpu_with_sleep_is_a_maximum() -> None:
    found = run(on="h200", gpus=8, shard="zero3", share=0.5)
    held = roles(found)
    assert found.placement == "colocated"
    assert found.peak == max(found.totals.values())
    assert held["rollout"].alive == ("rollout", "sync")
    asleep = held["rollout"].by_stretch["train"]
    assert asleep == held["rollout"].per_gpu.runtime < GIB
    assert held["rollout"].per_gpu.peak == pytest.approx(0.5 * (found.capacity or 0), abs=1 * GIB)


def test_a_shared_gpu_without_sleep_is_a_sum() -> None:
    asked = {"on": "h200", "gpus": 8, "shard": "zero3", "share": 0.3}
    slept, stays = run(**asked), run(**asked, engine={"sleeps": False})
    engine = roles(stays)["rollout"].per_gpu
    for stretch in ("reward", "train"):
        assert stays.totals[stretch] - slept.totals[stretch] == engine.peak - engine.runtime
    assert stays.totals["rollout"] == slept.totals["rollout"]
    assert stays.peak > slept.peak


def test_the_engine_takes_what_the_others_leave() -> None:
    found = run(on="a100-80", gpus=8, shard="zero3")
    assert found.capacity is not None
    # Nine tenths are taken comfortably, as vLLM itself takes 0.9.
    assert found.totals["rollout"] == int(0.9 * found.capacity)
    room = roles(found)["rollout"].per_gpu.kv_cache
    assert found.kv_tokens == pytest.approx(room / 524_288, abs=16)
    ppo, grpo = found, run("grpo", on="a100-80", gpus=8, shard="zero3")
    # The allocator's reserve is 5 % of what is held; a token is 524,288 bytes of cache.
    more = (grpo.kv_tokens or 0) - (ppo.kv_tokens or 0)
    assert more == pytest.approx(1.05 * 14 * SCALAR / 8 / 524_288, rel=0.02)


def test_without_sleep_the_engine_leaves_room_for_training() -> None:
    found = run(on="a100-80", gpus=8, shard="zero3", engine={"sleeps": False})
    assert found.peak <= int(0.9 * (found.capacity or 0))
    assert found.peak_phase == "train"
    assert found.verdict == "fits"


def test_an_engine_of_its_own_gpus_has_them_whole() -> None:
    found = run("grpo", on="a100-80", gpus=8, shard="zero3", engine={"gpus": 4})
    assert (found.placement, found.gpus, found.rollout_gpus) == ("split", 8, 4)
    assert found.gpu_memory_utilization == pytest.approx(0.92, abs=0.01)
    assert found.engine == roles(found)["rollout"].per_gpu.peak
    assert roles(found)["rollout"].alive == ("rollout", "reward", "train", "sync")
    assert roles(found)["rollout"].gpus == 4
    together = run("grpo", on="a100-80", gpus=8, shard="zero3")
    assert (found.kv_tokens or 0) > (together.kv_tokens or 0)


@pytest.mark.parametrize("on", ["a100-80", None])
def test_an_engine_of_its_own_gpus_takes_nothing_where_others_train(on: str | None) -> None:
    found = run("grpo", on=on, gpus=8, shard="zero3", engine={"gpus": 4})
    assert roles(found)["rollout"].by_stretch == {}
    for stretch in found.stretches:
        parts = sum(row.by_stretch.get(stretch.stretch, 0) for row in found.roles)
        assert parts == stretch.roles


def test_a_usual_group_that_is_too_large_is_said_to_be_cut() -> None:
    """TRL's GRPO makes 8 completions of each prompt (num_generations)."""
    assert run("grpo").assumptions["group"] == (
        "1 of each prompt, not the usual 8: an iteration makes no more"
    )
    assert "group" not in run("grpo", gpus=8).assumptions
    assert "group" not in run("ppo").assumptions


def test_rules_give_rewards_only_where_no_model_does() -> None:
    asked = {"on": "h100", "gpus": 8, "shard": "fsdp"}
    assert "rules" not in str(run("grpo", **asked).assumptions["time"])
    ruled = run("grpo", **asked, cast={"has_reward": False})
    assert "rules give rewards at once" in str(ruled.assumptions["time"])


def test_ranks_of_an_engine_share_its_weights() -> None:
    whole = roles(run("grpo", gpus=8, shard="zero3"))["rollout"].per_gpu.weights
    halves = roles(run("grpo", gpus=8, shard="zero3", tp=2))["rollout"].per_gpu.weights
    assert halves == pytest.approx(whole / 2, rel=0.001)


def test_models_on_the_host_leave_the_rollout_alone() -> None:
    found = run(on="h100", gpus=8, shard="zero3", idle=True)
    held = roles(found)
    assert held["policy"].by_stretch["rollout"] == 0
    assert held["reference"].by_stretch["train"] == 0
    stays = run(on="h100", gpus=8, shard="zero3")
    assert (found.kv_tokens or 0) > (stays.kv_tokens or 0)


def test_a_model_that_does_not_fit_is_told_so() -> None:
    found = run(on="a100-80")  # 14 bytes of 7 billion are more than it has
    assert found.verdict == "no"
    assert (found.free or 0) < 0


def test_a_cache_below_one_sequence_does_not_fit() -> None:
    found = run("grpo", on="a100-80", gpus=8, shard="zero3", share=0.17)
    assert (found.max_concurrency or 0) < 1
    assert found.verdict == "no"


def test_reward_and_critic_may_be_other_models() -> None:
    held = roles(run(name="llama2-13b", cast={"reward": card("llama2-7b")}))
    assert (held["reward"].model, held["critic"].model) == ("llama2-7b", "llama2-7b")
    assert held["reward"].per_gpu.weights == 2 * SCALAR


def test_stages_of_a_pipeline_hold_less() -> None:
    whole, half = run("grpo"), run("grpo", gpus=2, pp=2)
    assert half.totals["train"] < whole.totals["train"]


@pytest.mark.parametrize("algo", [one.name for one in ALGORITHMS.all()])
def test_parts_sum_up(algo: str) -> None:
    found = run(algo, on="h200", gpus=8, shard="fsdp")
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
        run("dpo", engine={"gpus": 4})
    with pytest.raises(ImpossibleError, match="multiple of --rollout-tp 3"):
        run("ppo", tp=3)
    with pytest.raises(ImpossibleError, match="over the 4,096 tokens"):
        run("ppo", seq=8192)
    with pytest.raises(ImpossibleError, match="--rollout-batch 0"):
        run("ppo", engine={"batch": 0})
    with pytest.raises(UsageError, match="no algorithm named 'pppo'"):
        run("pppo")
    with pytest.raises(ImpossibleError, match="leaves no completion within --seq 512"):
        run("grpo", seq=512, prompt=512)
    with pytest.raises(UsageError, match="dpo makes no sequences"):
        run("dpo", pace={"group": 4})
    with pytest.raises(ImpossibleError, match="--rollout-gpus -1"):
        run("grpo", engine={"gpus": -1})
    with pytest.raises(UsageError, match="grpo has no value model"):
        run("grpo", cast={"critic": card("llama2-7b")})
    with pytest.raises(UsageError, match="dpo has no reward model"):
        run("dpo", cast={"reward": card("llama2-7b")})
    with pytest.raises(UsageError, match="beside the one it trains"):
        run("reward", cast={"reward": card("llama2-7b")})
    with pytest.raises(UsageError, match="contradict"):
        run("ppo", cast={"reward": card("llama2-7b"), "has_reward": False})
    with pytest.raises(ImpossibleError, match="--updates 0"):
        run("grpo", pace={"updates": 0})
    # TRL refuses them too: grpo_config.py, the generation batch is a multiple of num_generations.
    with pytest.raises(ImpossibleError, match="--group 16 does not divide the 8 sequences"):
        run("grpo", gpus=8, pace={"group": 16})
    with pytest.raises(ImpossibleError, match="--group 3 does not divide the 256 sequences"):
        run("grpo", gpus=8, global_batch=256, pace={"group": 3})
    # 8 ranks make 8 at a time, in two updates 16: the least that 12 divides is 48, 24 in each.
    with pytest.raises(ImpossibleError) as refused:
        run("grpo", gpus=8, pace={"group": 12, "updates": 2})
    assert refused.value.hint == "take a divisor of 16, or --global-batch 24"
    assert run("grpo", gpus=8, global_batch=24, pace={"group": 12, "updates": 2}).peak > 0
    with pytest.raises(UsageError, match="a run takes time on a GPU"):
        run("grpo", pace={"iterations": 100})
    with pytest.raises(ImpossibleError, match=r"--price -1\.0 is below 0"):
        run("grpo", on="h100", pace={"price": -1.0})


@pytest.mark.parametrize(
    ("algo", "framework", "tokens"),
    [
        ("grpo", "trl", 1536),  # logits_to_keep
        ("rloo", "trl", 1536),
        ("ppo", "trl", 2048),  # all logits, sliced behind
        ("grpo", "generic", 2048),
        ("grpo", "openrlhf", 2048),
    ],
)
def test_logits_are_of_completions_where_the_framework_has_it_so(
    algo: str, framework: str, tokens: int
) -> None:
    found = run(algo, framework=framework, seq=2048, prompt=512)
    assert (found.prompt, found.output) == (512, 1536)
    # 16-bit logits, a float32 copy and its log-softmax.
    assert roles(found)["reference"].per_gpu.logits == tokens * 32_000 * 10


def test_a_gpu_hands_over_one_tensor_beside_both_copies() -> None:
    found = run(on="h100", gpus=8, shard="zero3")
    held, table = roles(found), 2 * 32_000 * 4096
    assert held["policy"].by_stretch["sync"] == held["policy"].by_stretch["rollout"] + table
    engine = held["rollout"]
    assert engine.by_stretch["sync"] == engine.per_gpu.weights + engine.per_gpu.runtime
    assert engine.per_gpu.weights == 2 * N
    assert held["reference"].by_stretch["sync"] == held["reference"].by_stretch["rollout"]


def test_verl_hands_over_in_a_buffer_of_two_gib() -> None:
    asked = {"gpus": 8, "shard": "fsdp", "precision": "bf16-mixed"}
    plain, verl = run("grpo", **asked), run("grpo", framework="verl", **asked)
    more = roles(verl)["policy"].by_stretch["sync"] - roles(plain)["policy"].by_stretch["sync"]
    assert more == 2 * GIB


def test_trl_gathers_a_model_whole_to_merge_its_adapters() -> None:
    asked = {"gpus": 8, "shard": "zero3", "method": "lora", "on": "h100"}
    one, whole = run("grpo", **asked), run("grpo", framework="trl", **asked)
    policy = roles(whole)["policy"].by_stretch
    assert policy["sync"] - policy["rollout"] == 2 * N
    assert roles(one)["policy"].by_stretch["sync"] < policy["sync"]


def test_weights_that_wait_on_the_host_come_back_to_be_handed_over() -> None:
    policy = roles(run(on="h100", gpus=8, shard="zero3", idle=True))["policy"].by_stretch
    assert policy["rollout"] == 0
    assert policy["sync"] == pytest.approx(2 * N / 8 + 2 * 32_000 * 4096, abs=64)


def test_an_engine_of_its_own_gpus_gets_a_tensor_beside_its_share() -> None:
    found = run("grpo", on="a100-80", gpus=8, shard="zero3", engine={"gpus": 4})
    assert found.totals["sync"] == (found.engine or 0) + 2 * 32_000 * 4096
    assert found.peak_phase == "sync"
