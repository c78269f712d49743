"""Settings of an engine: its own names, and defaults that depend on the GPU and the model."""

from __future__ import annotations

from dataclasses import fields

import pytest

from llmcalc.catalog.data import runtime, runtimes
from llmcalc.engines.serving import Place, serve
from llmcalc.errors import ImpossibleError, UsageError
from llmcalc.spec.settings import Settings

GIB = 2**30


@pytest.mark.parametrize(
    ("name", "gpu", "gib", "seqs", "tokens"),
    [
        # https://docs.vllm.ai, arg_utils.get_batch_defaults: 1024 and 8192 from 70 GiB on, but not
        # on an A100; 16384 from 160 GiB on since 0.26
        ("vllm", "h100-sxm5-80gb", 79, 1024, 8192),
        ("vllm", "a100-sxm4-80gb", 79, 256, 2048),
        ("vllm", "rtx-4090", 24, 256, 2048),
        ("vllm", "b200", 178, 1024, 16384),
        ("vllm-v1", "b200", 178, 1024, 8192),
        ("vllm-v0", "h100-sxm5-80gb", 79, 256, 8192),
    ],
)
def test_vllm_s_defaults_depend_on_the_gpu(
    name: str, gpu: str, gib: int, seqs: int, tokens: int
) -> None:
    found = serve(runtime(name), Settings(), Place(memory=gib * GIB, gpu=gpu, context=8192))
    assert found.settings.max_num_seqs == seqs
    assert found.tokens_at_once == tokens


@pytest.mark.parametrize(
    ("context", "towers", "tokens"),
    [(8_192, False, 8_192), (32_768, False, 32_768), (131_072, False, 2_048),
     (131_072, True, 131_072)],
)  # fmt: skip
def test_v0_computes_whole_prompts_unless_they_are_long_text(
    context: int, tokens: int, *, towers: bool
) -> None:
    found = serve(runtime("vllm-v0"), Settings(), Place(context=context, towers=towers))
    assert found.tokens_at_once == tokens


def test_a_value_that_is_set_wins_over_the_default() -> None:
    found = serve(runtime("vllm"), Settings(max_num_seqs=7), Place(memory=80 * GIB, gpu="h200"))
    assert found.settings.max_num_seqs == 7
    assert found.share == 0.92


def test_a_setting_of_another_engine_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"llama\.cpp has no --block-size") as caught:
        serve(runtime("llama.cpp"), Settings(block_size=16), Place())
    assert "--n-gpu-layers" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("vllm", {"gpu_memory_utilization": 0.0}), ("vllm", {"gpu_memory_utilization": 1.01}),
     ("vllm", {"max_num_seqs": 0}), ("llama.cpp", {"n_gpu_layers": -1})],
)  # fmt: skip
def test_values_that_an_engine_would_refuse_are_impossible(
    name: str, wrong: dict[str, float]
) -> None:
    with pytest.raises(ImpossibleError):
        serve(runtime(name), Settings(**wrong), Place())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [one.name for one in runtimes()])
def test_runtime_files_speak_of_known_settings_and_name_their_sources(name: str) -> None:
    known = {field.name for field in fields(Settings)}
    found = runtime(name)
    assert set(found.settings) <= known
    split = {"tp", "pp", "dp", "ep", "kv", "kv_values", "context"}
    for command in found.commands.values():
        assert set(command.flags) <= known | split
        assert set(command.kv) <= set(found.kv_formats)
    assert all(one.source and one.bytes for one in found.overheads)
