"""What a benchmark timed, read from the names of its tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmcalc.checks.measured.case import Run
from llmcalc.checks.measured.reading import read, shipped
from llmcalc.checks.measured.runs import backend, flash, run
from llmcalc.checks.measured.unusable import Unusable

FILE = next(path for path in shipped() if Path(path).stem == "decode")


def _run(**config: str) -> Run:
    return run({"metric": "decode_tok_s", **config})


TESTS = {
    "tg128": (0, 128, 0, 64), "tg512": (0, 512, 0, 256), "tg4096": (0, 4096, 0, 2048),
    "tg32 @ d32768": (0, 32, 32768, 32784), "tg32 @ d65536": (0, 32, 65536, 65552),
}  # fmt: skip
"""Prompt, output, depth and mean context: tokens are written into an empty cache, or a deep one."""


@pytest.mark.parametrize("test", TESTS)
def test_a_test_of_llama_bench_tells_its_tokens(test: str) -> None:
    found = _run(test=test)
    assert (found.prompt, found.output, found.depth, found.context) == TESTS[test]


def test_the_shipped_rows_have_the_mean_context_that_their_gatherers_noted() -> None:
    noted = 0
    for row in read(FILE):
        if "avg_ctx" in row.config and row.config["metric"] == "decode_tok_s":
            assert run(row.config).context == int(row.config["avg_ctx"]), row.id
            noted += 1
    assert noted > 300


@pytest.mark.parametrize(
    ("test", "tokens", "depth"),
    [("pp512", 512, 0), ("pp4096", 4096, 0), ("pp512 @ d8192", 512, 8192)],
)
def test_a_prefill_is_read_after_its_depth(test: str, tokens: int, depth: int) -> None:
    found = run({"metric": "prefill_tok_s", "test": test})
    assert (found.phase, found.prompt, found.output, found.depth) == ("prefill", tokens, 0, depth)
    assert found.context == tokens + depth


def test_columns_of_lengths_go_before_the_words_of_a_test() -> None:
    found = _run(test="128/2048", isl="128", osl="2048", batch="16")
    assert (found.batch, found.prompt, found.output, found.context) == (16, 128, 2048, 1152)
    assert _run(test="128/2048").context == 1152


def test_an_answer_of_unknown_length_is_some_hundred_tokens() -> None:
    """`ollama run --verbose` prints a rate and no length; a short context changes it little."""
    assert 0 < _run(test="ollama eval rate").context < 500
    assert _run(test="512 tokens", avg_ctx="270").context == 270


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"test": ""}, "not named"),
        ({"test": "tg0"}, "times no tokens"),
        ({"test": "pp512"}, "does not time what the metric says"),
        ({"test": "pp512+tg128"}, "does not tell how many tokens"),
        ({"test": "tg128", "batch": "many"}, "no number"),
        ({"test": "tg128", "metric": "mmlu"}, "metric 'mmlu' is not one of ours"),
        ({"test": "Offline", "metric": "mlperf_tok_s"}, "lengths of prompts and outputs"),
    ],
)
def test_a_run_that_does_not_tell_is_told(config: dict[str, str], why: str) -> None:
    with pytest.raises(Unusable, match=why):
        _run(**config)


def test_full_load_runs_as_many_sequences_as_there_is_room_for() -> None:
    found = run({"metric": "total_output_tok_s_max_load", "batch": "max (inflight)",
                 "isl": "128", "osl": "2048"})  # fmt: skip
    assert (found.phase, found.batch) == ("load", None)


BACKENDS = {
    "CUDA": ("cuda", None), "Metal": ("metal", None), "vulkan_radv": ("vulkan", None),
    "rocm7-nightlies": ("rocm", None), "Vulkan fa=True (best of sweep)": ("vulkan", True),
    "ROCm fa=False (best of sweep)": ("rocm", False), "HIP": ("rocm", None), "": ("", None),
}  # fmt: skip


@pytest.mark.parametrize("text", BACKENDS)
def test_a_backend_names_kernels_and_flash_attention(text: str) -> None:
    assert (backend({"backend": text}), flash({"backend": text})) == BACKENDS[text]
