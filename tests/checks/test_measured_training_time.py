"""What rows of training speed and GPU-hours are read as."""

from __future__ import annotations

import pytest

from llmcalc.blueprint import lower
from llmcalc.checks.measured.cases_of_training_time import hours, training_row, training_time
from llmcalc.checks.measured.training_shapes import MPT, mpt
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.engines import params

ROW = {
    "model": "Llama-2-7B", "params_b": "6.738", "task": "pretrain", "gpus": "64",
    "gpu": "A100-80GB", "framework": "torchtitan", "precision": "bf16", "mbs": "2", "gbs": "128",
    "seq": "4096", "tp": "2", "shard": "FSDP2", "recompute": "selective layer", "flash": "y",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "billions"),
    [("MPT-125m", 0.125311488), ("MPT-7b", 6.658859008), ("MPT-70b", 64.862437376)],
)
def test_the_benchmarks_models_have_the_sizes_of_their_table(name: str, billions: float) -> None:
    """Beside what a card multiplies: 13 biases and norms of each layer, two at the end, positions.

    At 2,048 tokens, of the table in llm-foundry's README.
    """
    width, layers, _ = MPT[name]
    counted = params.count(lower(mpt(name)))
    weights = counted.total - counted.components["norm"]
    assert weights + width * (13 * layers + 2 + 2048) == round(billions * 1e9)


def test_a_row_says_how_its_step_is_run() -> None:
    run = training_time(ROW).run
    assert (run.parallel.tp, run.parallel.dp, run.parallel.gpus) == (2, 32, 64)
    assert (run.micro_batches, run.dealt, run.layers_again) == (2, "weights", 0.5)
    assert not run.adapters


@pytest.mark.parametrize(
    ("said", "copies"),
    [("ZeRO-1 group 8", 4), ("(tp=2, zero1=4)", 8), ("(tp=2, zero1=-1)", 1), ("ZeRO-1", 1)],
)
def test_groups_of_data_ranks_as_people_write_them(said: str, copies: int) -> None:
    """32 data ranks, each group of which deals out the optimizer's states (InternEvo)."""
    run = training_time(ROW | {"shard": said}).run
    assert (run.dealt, run.replicate) == ("optimizer", copies)


@pytest.mark.parametrize(
    ("said", "batches"), [("~128", 2), ("1M tokens", 4), ("", 4), ("sixty-four", 4)]
)
def test_global_batches_as_people_write_them(said: str, batches: int) -> None:
    """2 · 32 sequences a micro-batch; 2^20 tokens are 256; nothing said are four."""
    assert training_time(ROW | {"gbs": said}).run.micro_batches == batches


def test_memory_and_time_fail_apart() -> None:
    """llm-foundry's memory is none of ours; its time is."""
    row = training_row(ROW | {"framework": "llm-foundry/Composer FSDP", "model": "MPT-7b"})
    assert row.memory is None
    assert row.time
    assert set(row.missing) == {"room", "devices"}


@pytest.mark.parametrize(
    "wrong", [{"mbs": ""}, {"seq": ""}, {"gpu": "abacus"}, {"task": "dpo/full"}, {"gpus": "63"}]
)
def test_rows_that_say_too_little_are_not_scored(wrong: dict[str, str]) -> None:
    with pytest.raises(Unusable):
        training_time(ROW | wrong)


def test_hours_need_tokens_and_a_model_of_that_size() -> None:
    row = {"model": "Llama-2-7B", "params_b": "6.738", "tokens_b": "2000", "gpu": "A100-80GB",
           "phase": "pretrain"}  # fmt: skip
    assert hours(row).tokens == 2e12
    for wrong in ({"tokens_b": ""}, {"phase": "finetune"}, {"params_b": "70"}):
        with pytest.raises(Unusable):
            hours(row | wrong)
