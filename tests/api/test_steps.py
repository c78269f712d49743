"""Worked solutions: each text, evaluated anew with its values, is the result it stands by."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.api.fit import Question, fits
from llmcalc.api.flops import flops
from llmcalc.api.memory import memory
from llmcalc.api.memory_result import Room
from llmcalc.api.params import params
from llmcalc.api.plans import Asked, plan
from llmcalc.api.setup import beside, setup
from llmcalc.api.train import train
from llmcalc.catalog.find import card, gpu
from llmcalc.errors import ImpossibleError
from llmcalc.formula import Step, recording
from llmcalc.spec.card import ModelCard
from tests.api.evaluate import evaluated, symbols
from tests.strategies import cards

DENSE, WINDOWS, MLA = "llama2-7b", "gemma3-27b-text", "deepseek-v3"
MODELS = (
    DENSE,
    WINDOWS,
    MLA,
    "mixtral-8x7b",
    "gpt-oss-20b",
    "qwen1.5-moe-a2.7b",
    "opt-350m",
    "gpt2",
)

ASKED: dict[str, Callable[[ModelCard], object]] = {
    "params": lambda model: params([model]),
    "prefill": lambda model: flops(model, batch=3, seq=1_000, context=1_024),
    "decode": lambda model: flops(model, batch=3, phase="decode", context=1_024),
    "train flops": lambda model: flops(model, phase="train", seq=1_024, attention="full"),
    "memory": lambda model: memory(model, setup(), batch=3, seq=1_000),
    "memory int4": lambda model: memory(model, setup(weights="int4", kv="int4"), seq=777),
    "memory room": lambda model: memory(
        model, setup(weights="int8", kv="fp8"), seq=999, room=Room(gpu=gpu("h100"))
    ),
    "memory vllm": lambda model: memory(
        model, setup(weights="awq", engine="vllm"), batch=3, seq=999, room=Room(gpu=gpu("h100"))
    ),
    "memory vllm v0 budget": lambda model: memory(
        model, setup(engine="vllm-v0"), seq=999, room=Room(kv_budget=2**33)
    ),
    "memory sglang": lambda model: memory(
        model, setup(engine="sglang"), seq=999, room=Room(gpu=gpu("h200"))
    ),
    "memory tensorrt-llm": lambda model: memory(
        model, setup(engine="tensorrt-llm"), seq=999, room=Room(gpu=gpu("h200"))
    ),
    "memory llama.cpp": lambda model: memory(
        model,
        setup(weights="q4_k_m", kv="fp16", engine="llama.cpp"),
        batch=2,
        seq=999,
        room=Room(gpu=gpu("4090")),
    ),
    "memory beside": lambda model: memory(
        model,
        setup(beside=beside(draft=card("gpt2"), mtp=True, max_loras=2, shared_prefix=50)),
        batch=3,
        seq=999,
    ),
    "memory fp8 tp": lambda model: memory(model, setup(weights="fp8", gpus=8), seq=999),
    "memory pp": lambda model: memory(model, setup(pp=3, tp=1), seq=999),
    "fit": lambda model: list(
        fits([model], Question(gpu=gpu("h100"), batch=2, seq=1_000, setup=setup())).results
    ),
    "train": lambda model: train(
        model, plan(Asked(precision="megatron", gpus=7, shard="zero2", seq=999))
    ),
    "train long": lambda model: train(model, plan(Asked(micro_batch=64, seq=999))),
    "train again": lambda model: train(
        model, plan(Asked(micro_batch=64, seq=999, recompute="full", every=2, loss="fused"))
    ),
    "train qlora": lambda model: train(
        model, plan(Asked(method="qlora", micro_batch=8, seq=999, framework="huggingface"))
    ),
    "train fsdp": lambda model: train(
        model, plan(Asked(gpus=8, shard="fsdp", seq=999, optimizer="adamw-8bit", global_batch=32))
    ),
}


def _steps(ask: str, model: ModelCard) -> list[Step]:
    with recording() as steps:
        ASKED[ask](model)
    return steps


def _check(step: Step) -> None:
    assert evaluated(step.text, step.values) == Fraction(step.result), step
    assert symbols(step.text) <= set(step.values), step
    substituted = re.sub(r"(?<=\d),(?=\d{3})", "", step.substituted)
    assert evaluated(substituted, {}) == Fraction(step.result), step


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("ask", ASKED)
def test_each_text_with_its_values_is_its_result(ask: str, name: str) -> None:
    steps = _steps(ask, card(name))
    assert steps
    for step in steps:
        _check(step)


@pytest.mark.parametrize("tp", [2, 4, 8, 16])
@pytest.mark.parametrize("name", ["llama2-70b", "deepseek-v3", "gpt-oss-20b"])
def test_a_rank_of_many_explains_its_own_share(name: str, tp: int) -> None:
    with recording() as steps:
        report = memory(card(name), setup(tp=tp), batch=2, seq=100)
    cached = [step for step in steps if step.name.endswith("_per_token")]
    assert sum(step.result for step in cached) == report.results[0].kv_bytes_per_token
    for step in steps:
        _check(step)


@given(cards(), st.sampled_from([ask for ask in ASKED if "p" not in ask.split()[-1][-1:]]))
def test_texts_hold_for_every_card(model: ModelCard, ask: str) -> None:
    for step in _steps(ask, model):
        _check(step)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("ask", ASKED)
def test_every_formula_has_a_source_and_sums_and_shapes_need_none(ask: str, name: str) -> None:
    for step in _steps(ask, card(name)):
        terms = step.text.split(" + ")
        is_sum = all(re.fullmatch(r"\w+", term) for term in terms)
        is_shape = step.note.startswith("in ")
        assert step.source or is_sum or is_shape, step


@pytest.mark.parametrize("name", MODELS)
def test_the_weights_of_params_sum_to_its_total(name: str) -> None:
    """The steps before the last are the shapes; each component's sum is a term of the last."""
    *shapes, total = _steps("params", card(name))
    assert total.name == "total"
    assert sum(step.result for step in shapes) == total.result
    for component, size in total.values.items():
        assert sum(step.result for step in shapes if step.note == f"in {component}") == size


def test_nothing_is_recorded_when_nobody_asks() -> None:
    with recording() as outer:
        pass
    params([card(DENSE)])
    assert outer == []


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("ask", ["prefill", "decode", "train flops"])
def test_the_last_total_of_flops_is_the_answer(ask: str, name: str) -> None:
    with recording() as steps:
        report = ASKED[ask](card(name))
    (total,) = [step for step in steps if step.name == "total"]
    assert total.result == report.results[0].total  # type: ignore[attr-defined]
    sums = {step.name: step for step in steps if step.name in total.values}
    assert {name: step.result for name, step in sums.items()} == total.values
    named = {step.name: step.result for step in steps}
    attention = [step for name, step in sums.items() if name.startswith("attention")]
    assert all(named[part] == size for step in attention for part, size in step.values.items())


@pytest.mark.parametrize("name", MODELS)
def test_the_cache_of_a_batch_is_derived(name: str) -> None:
    model = card(name)
    with recording() as steps:
        report = memory(model, setup(), batch=16, seq=1_000)
    (held,) = {step.result for step in steps if step.name == "kv_cache"}
    assert held == report.results[0].per_gpu.kv_cache


SPLIT = [
    {"micro_batch": 64},
    {"framework": "megatron-lm", "gpus": 8, "tp": 2, "pp": 2, "vpp": 2, "global_batch": 32},
    {"gpus": 4, "pp": 4, "schedule": "dualpipe", "global_batch": 8, "micro_batch": 2},
    {"method": "lora", "micro_batch": 32, "framework": "huggingface"},
    {"method": "qlora", "micro_batch": 8},
    {"optimizer": "adafactor", "micro_batch": 8},
    {"optimizer": "galore", "recompute": "selective", "kernels": "eager"},
    {"precision": "fp8", "gpus": 8, "tp": 8, "micro_batch": 16},
    {"optimizer": "paged-adamw-in-backward", "framework": "torchtune", "micro_batch": 8},
    {"gpus": 8, "shard": "zero3", "micro_batch": 8, "offload": "optimizer"},
]


@pytest.mark.parametrize("asked", SPLIT, ids=str)
@pytest.mark.parametrize("name", ["llama2-7b", "gpt2", "mixtral-8x7b", "gemma3-27b-text"])
def test_each_part_of_the_peak_of_training_is_worked_out(name: str, asked: dict[str, Any]) -> None:
    """The step of each part that is not nothing has its bytes as the result."""
    try:
        chosen = plan(Asked(seq=999, **asked))
        with recording() as steps:
            (found,) = train(card(name), chosen).results
    except ImpossibleError:
        pytest.skip("the model does not divide so")
    results = {step.name: step.result for step in steps}
    parts = ("weights", "gradients", "master_weights", "optimizer", "activations", "logits",
             "buffers", "peak")  # fmt: skip
    for part in parts:
        if size := getattr(found.per_gpu, part):
            assert results[part] == size, part
    for step in steps:
        _check(step)
