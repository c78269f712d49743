"""`--emit`: lines as engines take them, with the settings that were computed."""

from __future__ import annotations

import shlex

import pytest

from llmcalc.api.emit import engine_of
from llmcalc.api.fit import Question, fits
from llmcalc.api.memory import memory
from llmcalc.api.memory_result import Room
from llmcalc.api.setup import setup
from llmcalc.catalog.find import card, gpu
from llmcalc.errors import UsageError
from llmcalc.report.model import Report
from llmcalc.spec.settings import Settings


def _line(name: str, emit: str, on: str | None = "h100", **asked: object) -> list[str]:
    report = _report(name, emit, on, **asked)
    return shlex.split(report.text)


def _report(name: str, emit: str, on: str | None = "h100", **asked: object) -> Report:
    sizes = {key: asked.pop(key) for key in ("batch", "seq") if key in asked}
    chosen = setup(engine=engine_of(emit), **asked)  # type: ignore[arg-type]
    room = Room(gpu=gpu(on) if on else None)
    return memory(card(name), chosen, room=room, emit=emit, **sizes)  # type: ignore[arg-type]


def _value(words: list[str], flag: str) -> str:
    return words[words.index(flag) + 1]


def test_vllm_is_told_the_split_the_cache_and_what_is_to_be_served() -> None:
    words = _line("qwen3-32b", "vllm", tp=2, kv="fp8", batch=32, seq=8_192)
    assert words[:3] == ["vllm", "serve", "Qwen/Qwen3-32B"]
    assert _value(words, "--tensor-parallel-size") == "2"
    assert _value(words, "--kv-cache-dtype") == "fp8"
    assert _value(words, "--max-model-len") == "8192"
    assert _value(words, "--max-num-seqs") == "32"
    assert "--gpu-memory-utilization" not in words


def test_what_was_asked_for_is_said_too() -> None:
    words = _line("qwen3-32b", "vllm", settings=Settings(enforce_eager=True, block_size=32))
    assert "--enforce-eager" in words
    assert _value(words, "--block-size") == "32"


def test_llama_cpp_gets_as_many_layers_as_the_device_holds() -> None:
    """42.5 GB of Q4_K_M over 80 layers, about 0.5 GiB each: some 45 of them in 24 GiB."""
    asked = {"weights": "q4_k_m", "kv": "q8_0", "seq": 8_192}
    words = _line("llama3-70b", "llama.cpp", "rtx-3090", **asked)
    layers = int(_value(words, "--n-gpu-layers"))
    assert 40 <= layers <= 48
    more = Settings(n_gpu_layers=layers + 1)
    assert _report("llama3-70b", "llama.cpp", "rtx-3090", **asked, settings=more).warnings
    assert not _report("llama3-70b", "llama.cpp", "rtx-3090", **asked).warnings
    assert _value(words, "--cache-type-k") == _value(words, "--cache-type-v") == "q8_0"


def test_llama_cpp_holds_all_slots_in_one_context() -> None:
    words = _line("llama3-8b", "llama.cpp", "rtx-3090", weights="q8_0", batch=4, seq=2_048)
    assert _value(words, "--ctx-size") == str(4 * 2_048)
    assert _value(words, "--parallel") == "4"
    assert _value(words, "--n-gpu-layers") == "33"


def test_ollama_is_told_by_its_environment() -> None:
    words = _line("llama3-8b", "ollama", "rtx-3090", weights="q4_k_m", batch=2, seq=4_096)
    assert words[-2:] == ["ollama", "serve"]
    assert {"OLLAMA_CONTEXT_LENGTH=4096", "OLLAMA_NUM_PARALLEL=2"} <= set(words)


def test_the_line_is_all_of_the_answer_and_a_bad_fit_is_a_warning() -> None:
    report = _report("llama3-70b", "vllm")
    assert report.tables == ()
    assert report.text.count("\n") == 1
    assert "does not fit" in report.warnings[0]
    assert report.results[0].command == report.text.strip()


def test_fit_emits_a_line_a_model() -> None:
    question = Question(gpu=gpu("h100"), batch=16, seq=4_096, setup=setup(engine="vllm"))
    report = fits([card("qwen3-8b"), card("llama3-70b")], question, emit="vllm")
    assert len(report.text.splitlines()) == 2
    assert report.warnings == ("llama3-70b does not fit so",)


def test_an_engine_that_nobody_starts_is_refused() -> None:
    with pytest.raises(UsageError, match="--emit torchserve is no engine"):
        engine_of("torchserve")
    with pytest.raises(UsageError, match=r"llama\.cpp is not started by vllm"):
        memory(card("llama3-8b"), setup(engine="llama.cpp"), emit="vllm")
