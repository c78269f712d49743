"""From the engine and version that a log names to the runtime file that describes it."""

from __future__ import annotations

import re

from llmcalc.checks.measured.unusable import Unusable

_VERSION = re.compile(r"(\d+)\.(\d+)")
_MONTH = re.compile(r"(\d{4})(?:-(\d{2}))?")

RELEASES: tuple[tuple[tuple[int, int], tuple[int, int], str], ...] = (
    ((0, 26), (2026, 8), "vllm"),
    ((0, 21), (2026, 5), "vllm-0.21"),
    ((0, 10), (2025, 8), "vllm-v1"),
    ((0, 8), (2025, 4), "vllm-0.8"),
)
"""First version and month of each runtime file, the newest first; V0 before them. 0.8 came in the
middle of March 2025, and 0.9.2, which belongs to `vllm-v1`, in July: a month is not sharper."""


def vllm(version: str | None, engine: str | None, date: str | None) -> str:
    """The runtime file of a vLLM by its version, else its date."""
    if engine == "V0":
        return "vllm-v0"
    number = _numbers(_VERSION, version or "")
    when = None if number else _numbers(_MONTH, date)
    for first, month, name in RELEASES:
        if (number and number >= first) or (when and when >= month):
            return name
    if engine == "V1":
        return "vllm-0.8" if number or when else "vllm-v1"
    return "vllm-v0" if number or when else "vllm-v1"


def _llamacpp(date: str | None) -> str:
    """The runtime file of a llama.cpp by its date; the current one where none is told."""
    when = _numbers(_MONTH, date)
    return "llama.cpp-2025" if when and when < (2026, 1) else "llama.cpp"


def engine(text: str | None, date: str | None) -> tuple[str, str]:
    """Runtime and group of what a column `engine` says. Raises Unusable for one that we lack."""
    plain = (text or "").strip().lower()
    for start, runtime, group in (
        ("ik_llama", "llama.cpp-2025", "ik_llama.cpp"),
        ("llama.cpp", _llamacpp(date), "llama.cpp"),
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
