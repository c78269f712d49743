"""Which of our cards llama.cpp can run, and under which of its architectures."""

from __future__ import annotations

from dataclasses import replace

from tests.oracles.llamacpp.engine import Question

ARCHITECTURES: dict[str, tuple[str, ...]] = {
    "llama": (
        "llama2-7b",
        "llama2-70b",
        "llama3-8b",
        "llama3.2-1b",
        "tinyllama-1.1b",
        "smollm2-135m", "mistral-7b-v0.1",
        "mistral-nemo-12b",
        "yi-34b",
        "deepseek-llm-7b",
        "mixtral-8x7b",
        "falcon3-7b",
    ),
    "qwen2": ("qwen2-0.5b", "qwen2.5-7b", "qwen2.5-32b", "r1-distill-qwen-1.5b"),
    "qwen2moe": ("qwen1.5-moe-a2.7b",),
    "qwen3": ("qwen3-0.6b", "qwen3-8b", "qwen3-32b"),
    "qwen3moe": ("qwen3-30b-a3b", "qwen3-235b-a22b"),
    "qwen3next": ("qwen3-next-80b-a3b",),
    "qwen35": ("qwen3.5-27b",),
    "qwen35moe": ("qwen3.5-35b-a3b",),
    "gemma": ("gemma-2b", "gemma-7b"),
    "gemma2": ("gemma2-2b", "gemma2-9b", "gemma2-27b"),
    "gemma3": ("gemma3-270m", "gemma3-1b", "gemma3-27b-text"),
    "gemma4": ("gemma4-31b",),
    "phi2": ("phi-2",),
    "phi3": ("phi-3-mini", "phi-3-medium", "phi-4", "phi-4-mini"),
    "phimoe": ("phi-3.5-moe",),
    "deepseek": ("deepseek-moe-16b",),
    "deepseek2": ("deepseek-v2-lite", "deepseek-v2", "deepseek-v3", "kimi-k2", "glm-4.7-flash"),
    "glm-dsa": ("glm-5",),
    "minicpm3": ("minicpm3-4b",),
    "gpt-oss": ("gpt-oss-20b", "gpt-oss-120b"),
    "command-r": ("aya-23-8b", "command-r-plus-104b"),
    "cohere2": ("command-a-111b",),
    "falcon": ("falcon-7b", "falcon-40b"),
    "gpt2": ("gpt2", "gpt2-xl"),
    "gptneox": ("pythia-1b", "gpt-neox-20b"),
    "bloom": ("bloom-560m", "bloom-7b1"),
    "mpt": ("mpt-7b",),
    "starcoder": ("starcoder-15.5b",),
    "starcoder2": ("starcoder2-3b", "starcoder2-15b"),
    "olmo": ("olmo-7b",),
    "olmo2": ("olmo2-7b",),
    "chatglm": ("chatglm3-6b", "glm-4-9b"),
    "glm4": ("glm-4-32b-0414",),
    "glm4moe": ("glm-4.5-air", "glm-4.5"),
    "ernie4_5": ("ernie-4.5-0.3b",),
    "ernie4_5-moe": ("ernie-4.5-300b-a47b",),
    "hunyuan-moe": ("hunyuan-a13b",),
    "internlm2": ("internlm2-7b",),
    "exaone4": ("exaone-4.0-32b",),
    "granite": ("granite-3.3-2b",),
    "granitemoe": ("granite-3.0-1b-a400m",),
    "granitehybrid": ("granite-4.0-h-micro", "granite-4.0-h-tiny"),
    "mamba": ("mamba-130m", "mamba-2.8b", "falcon-mamba-7b"),
    "mamba2": ("mamba2-130m", "mamba2-2.7b"),
    "jamba": ("jamba-v0.1",),
    "nemotron": ("nemotron-4-340b",),
    "nemotron_h": ("nemotron-h-8b",),
    "nemotron_h_moe": ("nemotron-3-nano-30b-a3b", "nemotron-3-super-120b-a12b"),
    "llama4": ("llama4-scout-text",),
    "smollm3": ("smollm3-3b",),
    "kimi-linear": ("kimi-linear-48b-a3b",),
    "minimax-m2": ("minimax-m2",),
    "mimo2": ("mimo-v2-flash",),
    "falcon-h1": ("falcon-h1-34b",),
    "grok": ("grok-1",),
    "arctic": ("arctic-480b",),
    "deci": ("llama-3.3-nemotron-super-49b",),
    "qwen2vl": ("qwen2.5-vl-7b", "qwen2-vl-2b"),
    "qwen3vl": ("qwen3-vl-8b",),
    "qwen3vlmoe": ("qwen3-vl-30b-a3b",),
    "bert": ("bert-base-uncased", "all-minilm-l6-v2", "xlm-roberta-base", "roberta-large"),
}  # fmt: skip
"""Cards by architecture, the first of each the one that quick runs ask about."""

NO_FLASH = ("grok",)
"""Architectures that llama.cpp never runs with flash attention."""


def questions(arch: str, *, first: bool) -> tuple[Question, ...]:
    """Several settings for the first card of an architecture, two for the others."""
    asked = QUESTIONS if first else QUESTIONS[:2]
    if arch in NO_FLASH:
        return tuple(replace(one, flash_attn=0) for one in asked if one.cache_type_v == "f16")
    return asked


QUESTIONS = (
    Question(),
    Question(n_ctx=8192, flash_attn=0, n_parallel=2, n_ubatch=128),
    Question(n_ctx=16384, n_parallel=4, n_ubatch=1024),
    Question(n_ctx=32768, n_parallel=4, kv_unified=1, n_batch=300),
    Question(n_ctx=131072, n_ubatch=64, cache_type_k="q8_0", cache_type_v="q4_0"),
    Question(n_ctx=2048, n_ubatch=2048, cache_type_k="q8_0", cache_type_v="q8_0"),
    Question(n_ctx=1000, n_parallel=3, n_ubatch=2048),
)
