"""`train` as a library call: its parts sum up, and each option moves what it should."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llmcalc.api.plans import Asked, plan
from llmcalc.api.train import TrainResult, train
from llmcalc.api.train_time import Asked as Run
from llmcalc.catalog.find import card, cards, gpu
from llmcalc.errors import ImpossibleError, UsageError
from llmcalc.formula import recording
from llmcalc.planner.training import PARTS
from llmcalc.report.asjson import asjson

N = 8_030_261_248


def _train(name: str = "llama3-8b", **asked: Any) -> TrainResult:
    (found,) = train(card(name), plan(Asked(**asked)), gpu=gpu("h100")).results
    assert isinstance(found, TrainResult)
    return found


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"method": "lora"},
        {"method": "qlora", "framework": "huggingface"},
        {"framework": "megatron-lm", "tp": 2, "pp": 2, "gpus": 8, "shard": "zero1"},
        {"shard": "fsdp", "gpus": 8, "recompute": "full"},
    ],
)
def test_parts_sum_to_the_peak_which_is_the_highest_point(asked: dict[str, Any]) -> None:
    found = _train(**asked)
    held = found.per_gpu
    assert sum(getattr(held, name) for name in PARTS) + held.runtime == held.peak
    assert held.allocated == max(point.total for point in found.timeline)
    assert held.allocated <= held.reserved <= held.peak
    assert found.free == found.capacity - held.peak  # type: ignore[operator]


def test_the_timeline_is_in_json_and_a_chart_on_request() -> None:
    report = train(card("llama3-8b"), plan(Asked()), chart=True)
    (result,) = json.loads(asjson(report))["results"]
    phases = [point["phase"] for point in result["timeline"]]
    assert phases == ["forward", *["backward"] * 5, "step", "save"]
    assert len(report.tables) == 2
    assert max(len(str(row[3])) for row in report.tables[1].rows) == 32


def test_qlora_stores_frozen_weights_in_four_bits() -> None:
    lora, qlora = _train(method="lora", rank=8), _train(method="qlora", rank=8)
    linear = 32 * 218_103_808  # products of 32 layers, in symbols d·(2·d + 2·1024) + 3·d·14336
    # 4 bits and 8.25 bits of scale for each 64, or 16 bits (arXiv:2305.14314, section 3).
    assert lora.per_gpu.weights - qlora.per_gpu.weights == pytest.approx(
        linear * (2 - 0.5 - 0.127 / 8), rel=1e-3
    )


def test_dora_keeps_more_than_lora() -> None:
    assert (
        _train(method="dora", seq=8192).per_gpu.peak > _train(method="lora", seq=8192).per_gpu.peak
    )


def test_fused_kernels_keep_less_and_a_fused_loss_takes_a_seventh() -> None:
    plain = _train(seq=8192, kernels="sdpa", loss="eager")
    fused = _train(seq=8192, kernels="fused", loss="fused")
    assert fused.per_gpu.peak < plain.per_gpu.peak
    assert fused.timeline[1].logits * 7 == plain.timeline[1].logits == 14 * 8192 * 128_256


def test_gradient_accumulation_keeps_gradients_beside_activations() -> None:
    one, four = _train(seq=8192), _train(seq=8192, global_batch=4)
    assert (one.micro_batches, four.micro_batches) == (1, 4)
    assert four.timeline[0].gradients == 2 * N
    assert one.timeline[0].gradients == 0


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"method": "qlora", "recompute": "full"},
        {"method": "dora", "kernels": "eager", "loss": "chunked", "optimizer": "galore"},
        {"framework": "megatron-lm", "shard": "zero3", "gpus": 4, "optimizer": "muon"},
        {"framework": "litgpt", "method": "lora", "shard": "fsdp", "gpus": 2},
    ],
)
def test_every_card_has_an_answer(asked: dict[str, Any]) -> None:
    chosen = plan(Asked(seq=512, **asked))
    for model in cards():
        (found,) = train(model, chosen, force=True).results
        held = found.per_gpu
        assert min(getattr(held, name) for name in PARTS) >= 0
        if not asked:
            assert held.static == 16 * found.params == 16 * found.trainable


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ImpossibleError, match="no multiple of tp"):
        plan(Asked(gpus=6, tp=4))
    with pytest.raises(ImpossibleError, match="global batch"):
        plan(Asked(gpus=4, micro_batch=2, global_batch=12))
    with pytest.raises(UsageError, match="those of adapters"):
        plan(Asked(rank=8))
    with pytest.raises(UsageError, match="no optimizer named"):
        plan(Asked(optimizer="adamx"))


def test_time_and_cost_stand_beside_memory_where_a_gpu_is_named() -> None:
    """10 B tokens in steps of 8 · 2,048: 610,352 steps, each GPU paid for all of them."""
    report = train(
        card("llama3-8b"), plan(Asked(gpus=8, shard="fsdp")), gpu=gpu("h100"),
        asked=Run(tokens=10**10, price=2.0, mfu=0.4),
    )  # fmt: skip
    (found,) = report.results
    assert isinstance(found, TrainResult)
    assert found.step_seconds == pytest.approx(
        found.flops_per_step / (8 * 989.4e12 * 0.4), rel=1e-3
    )  # type: ignore[operator]
    assert found.time
    steady = 610_352 * found.step_seconds  # type: ignore[operator]
    assert found.total_seconds == pytest.approx(steady / found.time.goodput)
    assert found.gpu_hours == pytest.approx(8 * found.total_seconds / 3600)  # type: ignore[operator]
    assert found.cost == pytest.approx(2 * found.gpu_hours)  # type: ignore[operator]
    assert [table.title for table in report.tables][-1] == "the run, 10,000,000,000 tokens"


@pytest.mark.parametrize(
    "said",
    [{"tokens": 1, "samples": 1}, {"epochs": 2.0}, {"mfu": 1.5}, {"tokens": 0}, {"price": -1.0}],
)
def test_a_run_that_makes_no_sense_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises((UsageError, ImpossibleError)):
        train(card("llama3-8b"), plan(Asked()), gpu=gpu("h100"), asked=Run(**said))


def test_a_run_takes_no_time_without_a_gpu() -> None:
    assert _plain().time is None
    with pytest.raises(UsageError, match="GPU"):
        train(card("llama3-8b"), plan(Asked()), asked=Run(tokens=1))


def _plain() -> TrainResult:
    (found,) = train(card("llama3-8b"), plan(Asked())).results
    assert isinstance(found, TrainResult)
    return found


def test_a_gpu_without_bf16_is_timed_as_fp16_and_says_so() -> None:
    (old,) = train(card("llama3-8b"), plan(Asked()), gpu=gpu("v100")).results
    assert isinstance(old, TrainResult)
    assert "no bf16" in str(old.assumptions["timed"])
    assert "timed" not in _train().assumptions


def test_a_framework_that_nobody_measured_has_the_band_of_all_others() -> None:
    ours = _train()
    assert ours.error_of == "all training frameworks"
    assert ours.error_n is not None
    assert ours.error_n > 200  # rows of llmcalc/measurements/training_memory.tsv that are scored


@pytest.mark.parametrize(
    ("name", "asked", "group"),
    [
        ("llama3-8b", {"framework": "litgpt", "method": "lora"}, "litgpt, lora"),
        ("llama3-8b", {"framework": "megatron-lm"}, "megatron-lm, full"),
        ("mixtral-8x7b", {"framework": "megatron-lm"}, "megatron-lm, full, experts"),
        # DeepSpeed has one row, axolotl two of models with experts: too few to tell.
        ("llama3-8b", {"framework": "deepspeed"}, "all training frameworks"),
        ("llama3-8b", {"framework": "axolotl"}, "all training frameworks"),
        ("llama3-70b", {"framework": "megatron-lm", "precision": "fp8"}, "all training frameworks"),
    ],
)
def test_a_framework_has_the_band_of_all_rows_that_it_predicts(
    name: str, asked: dict[str, Any], group: str
) -> None:
    found = _train(name, **asked)
    assert found.error_of == group
    assert found.error_n
    assert found.error_p50 is not None
    assert found.error_p90 is not None
    assert 0 < found.error_p50 <= found.error_p90


def test_how_many_rows_a_band_has_is_shown() -> None:
    report = train(card("llama3-8b"), plan(Asked(framework="litgpt", method="lora")))
    assert "on 18 public runs (litgpt, lora)" in report.tables[0].note


@pytest.mark.parametrize(
    ("method", "word"), [("full", "trained, with gradients"), ("lora", "are frozen")]
)
def test_what_is_left_out_of_a_tower_is_said(method: str, word: str) -> None:
    """Qwen2.5-VL-7B: 32 blocks of 19,702,200, patches of 1,505,280, a merger of 44,574,464."""
    told = str(_train("qwen2.5-vl-7b", method=method).assumptions["images and sound"])
    assert "676,550,144" in told
    assert word in told
    assert "not counted" in told
    assert "images and sound" not in _train().assumptions


def test_one_data_rank_deals_nothing_out_and_says_so() -> None:
    assert _train(shard="zero3").assumptions["dealt out"] == "nothing (one data rank)"
    assert "optimizer" in str(_train(shard="zero3", gpus=2).assumptions["dealt out"])


@pytest.mark.parametrize(("method", "rows"), [("full", 1), ("lora", 0)])
def test_publishers_hours_are_explained_where_they_stand(method: str, rows: int) -> None:
    """Published hours are those of pre-training; adapters have no such row."""
    report = train(
        card("llama3-8b"), plan(Asked(method=method)), gpu=gpu("h100"),  # type: ignore[arg-type]
        asked=Run(tokens=10**9),
    )  # fmt: skip
    run = report.tables[-1]
    assert sum("publishers" in str(row[0]) for row in run.rows) == rows
    assert ("publishers" in run.note) == bool(rows)


def test_the_time_of_a_step_is_worked_out_by_name() -> None:
    """Each utilisation has a name of its own, and computing its rates and amounts."""
    with recording() as steps:
        (found,) = train(card("llama3-8b"), plan(Asked(global_batch=4)), gpu=gpu("h100")).results
    told = {step.name: step for step in steps}
    assert told["mfu"].result == found.mfu
    assert told["hfu"].result == found.time.hfu
    assert told["compute"].result == found.time.parts["compute"]
    assert told["compute"].result == 4 * told["compute_of_a_micro_batch"].result
    assert "utilisation" not in told


@pytest.mark.parametrize(
    ("name", "kernels", "nothing"),
    [("llama3-8b", "sdpa", True), ("llama3-8b", "eager", False), ("gpt-oss-20b", "sdpa", False)],
)
def test_computing_scores_again_says_where_it_saves_nothing(
    name: str, kernels: Any, *, nothing: bool
) -> None:
    """Scores are kept by plain products, and where sinks are learned."""
    plain, again = (
        train(card(name), plan(Asked(kernels=kernels, recompute=one))).results[0]
        for one in ("none", "selective")
    )
    kept = [one.timeline[0].activations for one in (plain, again)]
    assert (kept[0] == kept[1]) == nothing
    assert ("saves nothing" in str(again.assumptions["recompute"])) == nothing


def test_peft_widens_what_stands_beside_quantised_weights() -> None:
    """Llama 3.1 8B: two tables of 128,256 · 4,096 and 65 norms, two bytes more each.

    With the float32 adapters of PEFT: 41,943,040 numbers, two bytes more each, too.
    """
    plain, peft = (
        _train("llama3.1-8b", method="qlora", framework=name).per_gpu.weights
        for name in ("generic", "huggingface")
    )
    assert peft - plain == 2 * (2 * 128_256 * 4096 + 65 * 4096 + 41_943_040)


def test_one_layer_in_two_is_computed_again() -> None:
    """As torchtitan's selective option 2: the inputs of 16 of 32 layers, and 16 layers whole."""
    whole, half, inputs = (
        next(one for one in _train(micro_batch=4, **how).timeline if one.phase == "forward")
        for how in ({}, {"recompute": "full", "one_in": 2}, {"recompute": "full"})
    )
    one = 4 * 2048 * 4096 * 2  # the input of a layer
    ends = inputs.activations - 32 * one
    layer = (whole.activations - ends) // 32
    assert half.activations == 16 * one + 16 * layer + ends


def test_dropout_costs_adapters_a_copy_of_their_input_and_a_mask() -> None:
    """Of q alone in Llama 3 8B: 3 bytes of each of 4,096 numbers, of 2,048 tokens, in 32 layers.

    Without dropout the input itself is kept, which frozen weights would let go: two bytes.
    """
    lora = {"method": "lora", "targets": frozenset({"q"}), "framework": "generic"}
    without, dropped = (
        next(one for one in _train(dropout=how, **lora).timeline if one.phase == "forward")
        for how in (False, True)
    )
    tokens = 32 * 2048 * 4096
    assert dropped.activations - without.activations == (3 - 2) * tokens


def test_bitsandbytes_leaves_experts_that_are_one_parameter() -> None:
    """Qwen3-30B-A3B: 48 layers of 128 experts of 3 · 2,048 · 768 numbers.

    16 bits each under TRL; PEFT's preparation makes them float32 as all else that is not quantised.
    """
    experts = 48 * 128 * 3 * 2048 * 768
    for name, width in (("trl", 2), ("huggingface", 4)):
        found = _train(
            "qwen3-30b-a3b", method="qlora", framework=name, targets=frozenset({"q_proj"})
        )
        assert width * experts < found.per_gpu.weights < width * experts * 1.1
        assert "quantises no experts" in str(found.assumptions["experts"])
    generic = _train("qwen3-30b-a3b", method="qlora", targets=frozenset({"q"}))
    assert generic.per_gpu.weights < 0.6 * experts
    dense = _train("llama3-8b", method="qlora", framework="trl")
    assert "experts" not in dense.assumptions
