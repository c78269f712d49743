"""Constants in data files are what the fit scripts in tools/ find on the measurements."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from statistics import median
from types import ModuleType

import pytest

from llmcalc.catalog.data import runtime
from llmcalc.catalog.recipes import framework
from llmcalc.engines.train.runtime import FRAGMENTS
from llmcalc.spec.runtime import ProfileScratch

TOOLS = pathlib.Path(__file__).parents[1] / "tools"
GIB = 2**30


def _tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_vllm_s_activation_peak_is_fitted_on_its_logs() -> None:
    sampler, hidden, kept, _ = _tool("fit_vllm").fitted()
    assert len(kept) == 16
    for name in ("vllm", "vllm-v1", "vllm-v0"):
        form = runtime(name).scratch
        assert isinstance(form, ProfileScratch)
        assert (form.sampler_copies, form.hidden_copies) == pytest.approx(
            (sampler, hidden), abs=0.001
        )
    worst = max(abs(row.modelled(sampler, hidden) - row.measured) for row in kept)
    assert worst < 0.025


def test_what_llama_cpp_reaches_is_fitted_on_its_rows() -> None:
    """The file is what the tool writes, and larger models follow from smaller ones."""
    tool = _tool("fit_speed")
    every = tool.rows()
    written = (TOOLS.parent / "llmcalc" / "efficiency" / "llama.cpp.yaml").read_text("utf-8")
    assert tool.written(every) == written, "run python tools/fit_speed.py"
    off = tool.larger_from_smaller(every)
    assert len(off) > 40
    assert median(off) < 0.06


def test_vllm_s_non_torch_memory_is_the_median_of_its_logs() -> None:
    found = _tool("fit_vllm").non_torch()
    for name, engine in (("vllm-v1", "V1"), ("vllm-v0", "V0")):
        taken = {one.name: one.bytes / GIB for one in runtime(name).overheads}
        assert taken["non-torch memory"] == pytest.approx(found[f"{engine}, one GPU"][1], abs=0.005)
    taken = {one.name: one.bytes / GIB for one in runtime("vllm-v1").overheads}
    together = taken["non-torch memory"] + taken["communication buffers"]
    assert together == pytest.approx(found["V1, several GPUs"][1], abs=0.015)


def test_what_training_frameworks_take_is_fitted_on_their_rows() -> None:
    tool = _tool("fit_training")
    for name, n in (("fsdp-qlora", 24), ("torchtune", 7)):
        assert tool.reserve(name) == (framework(name).reserve, n)
    for name, n in (("qwen", 9), ("qwen-deepspeed", 12)):
        assert tool.context(name) == (framework(name).context, n)


def test_how_training_frameworks_work_is_what_their_rows_need_most() -> None:
    tool = _tool("fit_training")
    for name, method, field in tool.CHOICES:
        errors = tool.choice(name, method, field)
        assert min(errors, key=errors.__getitem__) == getattr(framework(name), field)


def test_what_the_allocator_cannot_give_back_is_no_less_than_a_failed_run_had() -> None:
    failed, ran = _tool("fit_training").fragments()
    assert failed < FRAGMENTS < ran
