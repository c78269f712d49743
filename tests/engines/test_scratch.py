"""Activation peaks of vLLM against its public start-up logs (llmcalc/measurements/vllm.tsv)."""

from __future__ import annotations

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.data import runtime
from llmcalc.catalog.find import card
from llmcalc.engines.scratch import forward_bytes, profile_run, sampler_bytes
from llmcalc.engines.serving import Place, serve
from llmcalc.spec.runtime import ProfileScratch
from llmcalc.spec.settings import Settings

GIB = 2**30


@pytest.mark.parametrize(
    ("engine", "name", "gpu", "gib", "context", "asked", "logged"),
    [
        ("vllm-v1", "llama3.1-8b", "h100", 79, 16_000, {}, 4.76),  # v118
        ("vllm-v1", "llama3.3-70b", "h100", 79, 16_000, {}, 4.84),  # v117
        ("vllm-v1", "qwen3-0.6b", "h100", 79, 16_000, {}, 5.56),  # v119
        ("vllm-v1", "qwen3-32b", "h100", 79, 16_000, {}, 5.64),  # v121
        ("vllm-v1", "gpt-oss-20b", "h100", 79, 16_000, {}, 7.38),  # v115
        ("vllm-v1", "qwen3-8b", "rtx-4090", 23, 1_024, {}, 1.40),  # v069
        ("vllm-v0", "llama3-8b", "a100", 79, 8_192, {}, 1.26),  # v004
        ("vllm-v0", "qwen3-30b-a3b", "2080ti", 22, 32_768, {"max_num_batched_tokens": 4_096}, 1.40),
        ("vllm-v0", "qwen2.5-1.5b", "t4", 15, 32_768, {}, 2.02),  # v015, a long forward pass
        ("vllm-v0", "qwen3-4b", "rtx-2060", 12, 10_000, {"max_num_seqs": 1}, 0.74),  # v040
    ],
)  # fmt: skip
def test_activation_peaks_are_what_logs_print(
    engine: str, name: str, gpu: str, gib: int, context: int, asked: dict[str, int], logged: float
) -> None:
    settings = Settings(max_model_len=context, **asked)  # type: ignore[arg-type]
    serving = serve(runtime(engine), settings, Place(memory=gib * GIB, gpu=gpu))
    form = serving.runtime.scratch
    assert isinstance(form, ProfileScratch)
    found = profile_run(form, lower(card(name)), serving).bytes(1, 1) / GIB
    assert found == pytest.approx(logged, abs=0.03)


def test_a_peak_by_hand() -> None:
    """10 tokens, hidden size 4, widest part 6: 10 · (3 · 4 + 6) · 2; 2 sequences of 100 logits."""
    assert forward_bytes(tokens=10, d=4, copies=3, widest=6) == 360
    assert sampler_bytes(
        seqs=2, V=100, sampler_copies=2.5, tokens=10, d=4, hidden_copies=1.5
    ) == 2 * 100 * 10 + 10 * 4 * 3  # fmt: skip
