"""From the engine and version that a log names to the runtime file that describes it."""

from __future__ import annotations

import re

from llmcalc.checks.measured.unusable import Unusable

_VERSION = re.compile(r"(\d+)\.(\d+)")
_MONTH = re.compile(r"(\d{4})(?:-(\d{2}))?")

V1_DEFAULT = (0, 8)
"""The first vLLM whose V1 engine is the default (2025-03, https://github.com/vllm-project/vllm/releases)."""
GRAPHS_COUNTED = (0, 21)
"""The first vLLM that takes its estimate of CUDA graphs off the budget, by the open data."""
_V1_SINCE = (2025, 4)
_COUNTED_SINCE = (2026, 5)
"""Year and month of those two, for logs that give only a date: 0.8 came in the middle of March."""


def vllm(version: str | None, engine: str | None, date: str | None) -> str:
    """The runtime of a vLLM: `vllm-v0`, `vllm-v1`, or `vllm` since 0.21."""
    number = _numbers(_VERSION, version or engine)
    when = _numbers(_MONTH, date)
    if engine == "V0" or _before(number, V1_DEFAULT):
        return "vllm-v0"
    if number is None and engine != "V1" and _before(when, _V1_SINCE):
        return "vllm-v0"
    if number is None:
        return "vllm" if when and not _before(when, _COUNTED_SINCE) else "vllm-v1"
    return "vllm-v1" if _before(number, GRAPHS_COUNTED) else "vllm"


def engine(text: str | None, date: str | None) -> tuple[str, str]:
    """Runtime and group of what a column `engine` says. Raises Unusable for one that we lack."""
    plain = (text or "").strip().lower()
    for start, runtime, group in (
        ("ik_llama", "llama.cpp", "ik_llama.cpp"),
        ("llama.cpp", "llama.cpp", "llama.cpp"),
        ("ollama", "llama.cpp", "llama.cpp"),
        ("sglang", "sglang", "sglang"),
        ("tensorrt", "tensorrt-llm", "tensorrt-llm"),
        ("trt", "tensorrt-llm", "tensorrt-llm"),
        ("transformers", "transformers", "transformers"),
        ("all", "generic", "generic"),
        ("generic", "generic", "generic"),
    ):
        if plain.startswith(start):
            return runtime, group
    if plain.startswith("vllm"):
        version = re.search(r"\d+\.\d+\S*", plain)
        named = re.search(r"\bv([01])\b", plain)
        found = vllm(version[0] if version else None, f"V{named[1]}" if named else None, date)
        return found, found
    raise Unusable(f"engine {text or ''!r} is not one of ours")


def _numbers(pattern: re.Pattern[str], text: str | None) -> tuple[int, int] | None:
    """The first two numbers of a text that the pattern finds; a year alone is its first month."""
    match = pattern.search(text or "")
    return (int(match[1]), int(match[2] or 1)) if match else None


def _before(one: tuple[int, int] | None, other: tuple[int, int]) -> bool:
    return one is not None and one < other
