"""Public runs of reinforcement learning, as `rlhf` is asked about them: what each page says."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.find import card
from tests.api.rlhf_asked import run

SAMPLES, BATCH = 264_292, 1024
"""Of one epoch of DeepSpeed-Chat (DeepSpeedExamples 0f09e4b, step3_rlhf_finetuning,
BenckmarkSetting.md): prompts of 256 tokens, completions of 256, one update a batch."""

RULES: dict[str, Any] = {"has_reward": False}
TRL: dict[str, Any] = {"algo": "grpo", "framework": "trl", "cast": RULES}
LONG: dict[str, Any] = {**TRL, "micro_batch": 4, "seq": 3072, "prompt": 2048}
VERL: dict[str, Any] = {"framework": "verl", "shard": "fsdp", "tp": 8, "recompute": "full"}

MEMORY: dict[str, dict[str, Any]] = {
    # No precision is said, so that of TRL; completions were made by transformers.
    "rl0090": {**LONG, "name": "qwen3-0.6b"},
    "rl0091": {**LONG, "name": "qwen3-1.7b"},
    "rl0004": {
        "algo": "ppo", "name": "llama3.1-8b", "framework": "deepspeed", "gpus": 8,
        "shard": "zero3", "seq": 2048, "prompt": 1536, "recompute": "full",
    },
}  # fmt: skip
"""Rows with a figure, which is compared with the training phase of one GPU."""

OUTCOMES: dict[str, dict[str, Any]] = {
    "rl0092": {**LONG, "name": "qwen3-4b", "on": "a100-80"},
    "rl0094": {**TRL, "name": "qwen2.5-7b", "on": "h20", "gpus": 4, "precision": "pure-bf16",
               "seq": 768, "prompt": 256},
    "rl0096": {**TRL, "name": "qwen2.5-3b", "on": "h20", "precision": "pure-bf16",
               "micro_batch": 4, "seq": 768, "prompt": 256},
    "oo0091": {**VERL, "algo": "ppo", "name": "qwen2.5-72b", "on": "a800-80gb", "gpus": 16,
               "seq": 768, "prompt": 512, "share": 0.4},
    # 24,000 tokens at once are 23 sequences; the distilled model is a Qwen2.5-14B.
    "oo0092": {**VERL, "algo": "grpo", "name": "qwen2.5-14b", "on": "h100", "gpus": 8,
               "micro_batch": 23, "seq": 1024, "prompt": 512, "cast": RULES},
    # The reference has GPUs of its own.
    "oo0094": {"algo": "grpo", "name": "qwen2.5-7b", "on": "rtx-6000-ada", "gpus": 2,
               "framework": "openrlhf", "shard": "zero2", "micro_batch": 2, "seq": 1025,
               "prompt": 1024, "engine": {"gpus": 2},
               "cast": {**RULES, "has_reference": False}},
}  # fmt: skip
"""Rows that say whether it ran."""

HOURS = {
    "rl0026": ("opt-6.7b", "a100-40", 8),
    "rl0027": ("opt-13b", "a100-40", 8),
    "rl0028": ("opt-30b", "a100-40", 8),
    "rl0029": ("opt-6.7b", "a100-80", 8),
    "rl0030": ("opt-13b", "a100-80", 8),
    "rl0031": ("opt-30b", "a100-80", 8),
    "rl0032": ("opt-66b", "a100-80", 8),
    "rl0033": ("opt-13b", "a100-80", 64),
    "rl0034": ("opt-30b", "a100-80", 64),
    "rl0035": ("opt-66b", "a100-80", 64),
    "rl0036": ("opt-175b", "a100-80", 64),
}
"""DeepSpeed-Chat: actor, GPU and how many; reward and value model are OPT-350M."""


def hours(name: str, on: str, gpus: int) -> float | None:
    """Of an epoch, with the first ranks of an engine and the first micro-batch that fit.

    None where nothing does: those runs must have left states on the host.
    """
    for tp in (1, 2, 4, 8):
        for micro_batch in (16, 8, 4, 2, 1):
            found = run(
                "ppo", name=name, on=on, gpus=gpus, shard="zero3", framework="deepspeed",
                recompute="full", micro_batch=micro_batch, global_batch=BATCH, seq=512, tp=tp,
                cast={"reward": card("opt-350m")},
            )  # fmt: skip
            if found.verdict != "no" and found.iteration_seconds:
                return SAMPLES / BATCH * found.iteration_seconds / 3600
    return None
