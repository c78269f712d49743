"""`rlhf`: seconds of an iteration by hand, and what so many of them come to."""

from __future__ import annotations

import pytest

from llmcalc.api.plans import Asked, plan
from llmcalc.api.rlhf import Cast, Engine, Pace, RlhfResult, Run, rlhf
from llmcalc.api.setup import setup
from llmcalc.catalog.find import card, gpu
from llmcalc.catalog.recipes import algorithm
from llmcalc.formula import evaluate, recording
from tests.api.rlhf_asked import N, run


def test_an_iteration_is_the_sum_of_its_stretches() -> None:
    found = run("grpo", on="h100", gpus=8, shard="fsdp", pace={"iterations": 100, "price": 3.0})
    time = found.time
    assert time is not None
    assert found.iteration_seconds == sum(time.seconds.values())
    assert list(time.seconds) == ["rollout", "reward", "train", "sync"]
    assert found.total_seconds == 100 * time.iteration_seconds
    assert found.gpu_hours == pytest.approx(8 * 100 * time.iteration_seconds / 3600)
    assert found.cost == pytest.approx(3 * (found.gpu_hours or 0))
    assert found.tokens_per_second == 8 * 2048 / time.iteration_seconds


def test_without_a_gpu_there_is_no_time() -> None:
    found = run("grpo")
    assert (found.time, found.iteration_seconds, found.gpu_hours) == (None, None, None)


def test_engines_of_their_own_are_paid_for_too() -> None:
    found = run("grpo", on="a100-80", gpus=8, shard="zero3", engine={"gpus": 4})
    assert found.gpu_hours == pytest.approx(12 * (found.iteration_seconds or 0) / 3600)


def test_a_token_is_no_faster_than_the_weights_are_read() -> None:
    found = run("grpo", on="h100", seq=1024, prompt=512, precision="pure-bf16", method="lora")
    rate = (gpu("h100").memory.bandwidth_gb_s or 0) * 1e9
    assert found.time is not None
    assert found.time.seconds["rollout"] > 512 * 2 * N / rate
    assert found.time.seconds["rollout"] < 3 * 512 * 2 * N / rate


def test_scores_take_at_least_their_flops() -> None:
    found = run("dpo", on="h100", gpus=8, shard="fsdp", global_batch=64)
    alone = run("dpo", on="h100", gpus=8, shard="fsdp", global_batch=64,
                 cast={"has_reference": False})  # fmt: skip
    assert found.time is not None
    assert alone.time is not None
    reference = found.time.seconds["train"] - alone.time.seconds["train"]
    # 64 pairs of 2 · 2048 tokens on 8 GPUs of 989 TFLOP/s; a forward is a third of a step.
    assert reference > 2 * N * 128 * 2048 / (8 * 989.4e12)
    assert reference == pytest.approx(alone.time.seconds["train"] / 3, rel=0.25)


def test_the_cache_limits_how_many_are_made_at_once() -> None:
    found = run("grpo", on="a100-80", gpus=8, shard="zero3", global_batch=2048)
    assert found.time is not None
    assert found.max_concurrency is not None
    each = 2048 // 8
    assert found.time.rollout_batch is not None
    assert found.time.rollout_batch <= found.max_concurrency < each
    assert (found.time.rollout_waves or 0) * found.time.rollout_batch >= each


def test_a_group_reads_its_prompt_once() -> None:
    asked = {"on": "h100", "gpus": 8, "shard": "fsdp", "global_batch": 256, "seq": 2048}
    alone = run("grpo", **asked, prompt=1920, pace={"group": 1}).time
    group = run("grpo", **asked, prompt=1920, pace={"group": 8}).time
    assert alone is not None
    assert group is not None
    assert (alone.prompts, group.prompts) == (256, 32)
    assert group.seconds["rollout"] < alone.seconds["rollout"]
    assert group.seconds["train"] == alone.seconds["train"]


@pytest.mark.parametrize(("algo", "group"), [("grpo", 8), ("rloo", 2), ("ppo", 1)])
def test_groups_are_those_of_trl(algo: str, group: int) -> None:
    time = run(algo, on="h200", gpus=8, shard="fsdp", global_batch=64).time
    assert time is not None
    assert time.prompts == 64 // group


def test_updates_make_more_sequences_and_epochs_only_learn_again() -> None:
    asked = {"on": "h200", "gpus": 8, "shard": "fsdp", "global_batch": 64}
    one = run("grpo", **asked).time
    updates = run("grpo", **asked, pace={"updates": 4}).time
    epochs = run("grpo", **asked, pace={"epochs": 4}).time
    assert one is not None
    assert updates is not None
    assert epochs is not None
    assert updates.sequences == 4 * one.sequences
    assert updates.seconds["train"] == pytest.approx(4 * one.seconds["train"])
    assert updates.seconds["reward"] == pytest.approx(4 * one.seconds["reward"], rel=0.05)
    assert epochs.sequences == one.sequences
    assert epochs.seconds["train"] == pytest.approx(4 * one.seconds["train"])
    assert epochs.seconds["reward"] == one.seconds["reward"]


def test_new_weights_are_gathered_and_copied() -> None:
    found = run("grpo", on="h100", gpus=8, shard="fsdp", framework="verl")
    spec = gpu("h100")
    assert found.time is not None
    assert spec.link is not None
    link = (spec.link.gb_s_per_direction or 0) * 1e9
    bandwidth = (spec.memory.bandwidth_gb_s or 0) * 1e9
    # Sleep level 2: nothing comes back from the host.
    by_hand = 2 * N * 7 / 8 / link + 2 * 2 * N / bandwidth
    assert found.time.seconds["sync"] == pytest.approx(by_hand)
    slower = run("grpo", on="h100", gpus=8, shard="fsdp").time
    assert slower is not None
    assert slower.seconds["sync"] > found.time.seconds["sync"]


def test_other_nodes_get_weights_at_the_rate_that_verl_measured() -> None:
    found = run("grpo", on="h100", gpus=8, shard="fsdp", engine={"gpus": 8})
    assert found.time is not None
    assert found.time.seconds["sync"] == pytest.approx(2 * N / 8.25e9)


def test_steps_of_time_follow_from_their_values() -> None:
    wanted = Run(
        algorithm=algorithm("ppo"), cast=Cast(policy=card("llama2-7b")),
        plan=plan(Asked(gpus=8, shard="fsdp")), engine=Engine(setup=setup(engine="vllm")),
        pace=Pace(iterations=10, price=2.0),
    )  # fmt: skip
    with recording() as steps:
        report = rlhf(wanted, gpu=gpu("h100"))
    (result,) = report.results
    assert isinstance(result, RlhfResult)
    named = {step.name: step for step in steps}
    assert named["iteration_seconds"].result == result.iteration_seconds
    assert named["gpu_hours"].result == result.gpu_hours
    assert named["cost"].result == result.cost
    for step in steps:
        assert evaluate(step.text, step.values) == pytest.approx(step.result), step.name
