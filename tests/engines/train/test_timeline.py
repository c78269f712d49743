"""The peak of a step is a maximum over its moments, and sharding moves it."""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.api.plans import Asked, plan
from llmcalc.blueprint import lower
from llmcalc.catalog.find import card
from llmcalc.engines.train.timeline import Line, fullest, timelines
from llmcalc.errors import LlmcalcError

N = 6_738_415_616


def _lines(name: str = "llama2-7b", **asked: Any) -> tuple[Line, ...]:
    return timelines(lower(card(name), training=True), plan(Asked(**asked)))


def test_the_peak_is_the_highest_moment_and_no_sum() -> None:
    (line,) = _lines()
    assert line.peak.total == max(one.total for one in line.moments)
    assert line.peak.total < line.lasting.gradients + sum(
        max(getattr(one, part) for one in line.moments)
        for part in ("weights", "master_weights", "optimizer", "activations", "logits", "buffers")
    )


def test_short_sequences_peak_in_the_step_and_long_ones_before() -> None:
    assert fullest(_lines(seq=128)).peak.phase == "step"
    assert fullest(_lines(seq=16_384)).peak.phase == "backward"


def test_the_first_stage_of_a_pipeline_holds_most_micro_batches() -> None:
    lines = _lines(pp=4, gpus=4, global_batch=16, seq=4096)
    held = [max(one.activations for one in line.moments) for line in lines]
    assert held == sorted(held, reverse=True)
    assert fullest(lines).stage == 0


def test_a_gradient_that_is_used_up_at_once_is_the_largest_one() -> None:
    (line,) = _lines(optimizer="adamw-in-backward", precision="pure-bf16")
    assert line.lasting.gradients == 2 * 32000 * 4096


def test_paged_and_offloaded_states_are_on_the_host() -> None:
    (paged,) = _lines(optimizer="paged-adamw")
    (moved,) = _lines(offload="optimizer")
    assert (paged.lasting.optimizer, paged.lasting.away.host >= 8 * N) == (0, True)
    assert (moved.lasting.optimizer, moved.lasting.master_weights) == (0, 0)
    assert moved.lasting.away.host == (8 + 4 + 2) * N  # gradients go with them


def test_zero_3_gathers_a_layer_ahead_and_the_ends() -> None:
    (line,) = _lines(shard="zero3", gpus=8, recompute="full")
    layer, ends = 202_383_360, 2 * 32000 * 4096 + 4096
    last = next(one for one in line.moments if one.at.startswith("the last layer"))
    gathered = 2 * (2 * layer + ends)
    # And the gradient of one layer, two buckets of 25 MiB and cuBLAS's workspace.
    assert last.buffers == gathered + 2 * layer + 2 * 26_214_400 + 33_554_432


def test_experts_are_dealt_out_among_fewer_data_ranks() -> None:
    """With 8 expert ranks of 8 data ranks an expert's states are whole; the rest is an eighth."""
    (line,) = _lines("mixtral-8x7b", ep=8, gpus=8, shard="zero1", precision="megatron")
    experts, whole = 45_097_156_608, 46_702_792_704
    expected = 8 * (experts // 8 + (whole - experts) / 8)
    assert line.lasting.optimizer == pytest.approx(expected, rel=1e-6)


def test_copies_of_what_is_dealt_out_hold_it_among_fewer_ranks() -> None:
    """HSDP on 32 ranks in 4 copies is FSDP on 8: weights, masters and both moments of 1/8 each."""
    (copied,) = _lines(gpus=32, shard="fsdp", replicate=4)
    (alone,) = _lines(gpus=8, shard="fsdp")
    assert copied.lasting == alone.lasting
    assert copied.lasting.weights == 2 * N // 8
    assert copied.lasting.optimizer == N


def test_experts_are_dealt_out_within_one_copy() -> None:
    """8 expert ranks of 16 in 2 copies: an expert is whole again, the rest an eighth."""
    options = {"ep": 8, "shard": "zero1", "precision": "megatron"}
    (copied,) = _lines("mixtral-8x7b", gpus=16, replicate=2, **options)
    (alone,) = _lines("mixtral-8x7b", gpus=8, **options)
    assert copied.lasting == alone.lasting


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"replicate": 3}, "8 data ranks do not divide into 3 copies"),
        ({"replicate": 4, "ep": 4}, "4 expert ranks do not fit the 2 ranks of one copy"),
        ({"replicate": 2, "shard": "ddp"}, "ddp deals nothing out"),
        ({"replicate": 0}, "--replicate 0 is not possible"),
    ],
)
def test_copies_that_do_not_divide_are_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(LlmcalcError, match=said):
        plan(Asked(**({"gpus": 8, "shard": "fsdp"} | asked)))


def test_dualpipe_keeps_the_weights_of_two_stages() -> None:
    """DeepSeek-V3, arXiv:2412.19437, table 2: parameters twice."""
    options = {"pp": 4, "gpus": 4, "global_batch": 8}
    two, one = (_lines(schedule=name, **options)[1].lasting for name in ("dualpipe", "1f1b"))
    assert (two.weights, two.gradients) == (2 * one.weights, 2 * one.gradients)
    assert two.optimizer == one.optimizer


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"pp": 3, "gpus": 3, "global_batch": 6}, "halves 3 stages"),
        ({"pp": 4, "gpus": 4, "global_batch": 5}, "and 5 micro-batches"),
        ({"pp": 4, "gpus": 4, "vpp": 2}, "no pieces that interleave"),
    ],
)
def test_dualpipe_halves_its_stages_and_micro_batches(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(LlmcalcError, match=said):
        plan(Asked(schedule="dualpipe", **asked))
