"""What a row configured, in our own words: all that a prediction is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec
from llmcalc.spec.settings import Settings

Aspect = Literal["weights", "cache", "room", "devices", "scratch", "tokens", "speed", "time"]
"""What a metric may need to know of a configuration."""
Phase = Literal["prefill", "decode", "load"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What was timed, and on what: sequences of so many tokens, each after so many others."""

    phase: Phase
    """`load`: prompts come and go, and as many sequences run at once as there is room for."""
    batch: int | None = 1
    """Sequences at once; None: as many as the memory holds."""
    prompt: int = 0
    """Tokens that each sequence reads before it writes; of a prefill, those that are timed."""
    output: int = 0
    """Tokens that each sequence writes."""
    depth: int = 0
    """Tokens that stand in the cache before, and whose reading is not timed."""
    layer_split: int = 1
    """GPUs that hold the layers one after the other, of which one works at a time (llama.cpp)."""
    bandwidth_gb_s: float | None = None
    """Of one device, where the row states it and the catalog has no such GPU."""
    backend: str = ""
    """Kernels that the row names: `cuda`, `metal`, `vulkan`, `rocm`, `sycl`, `cpu`; else empty."""

    @property
    def context(self) -> int:
        """Tokens that a sequence sees on average while it writes; of a prefill, at its end."""
        if self.phase == "prefill":
            return self.depth + self.prompt
        return self.depth + self.prompt + self.output // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One configuration."""

    card: ModelCard
    runtime: str
    weights: str = "bf16"
    keys: str = "bf16"
    values: str = "bf16"
    gpu: GpuSpec | None = None
    memory: int | None = None
    """Bytes of one device where the row states them; they go before the GPU's own."""
    kv_budget: int | None = None
    """Bytes for the cache alone."""
    tp: int = 1
    pp: int = 1
    ep: int = 1
    ranks_stated: bool = True
    """Whether the row says how many GPUs share the model."""
    settings: Settings
    seq: int = 1
    """Tokens of the one sequence whose memory is asked for."""
    run: Run | None = None
    """What was timed; None where a start was logged."""
    missing: Mapping[Aspect, str]
    """Why metrics that need an aspect cannot be predicted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What our own engines say of a case: bytes of one GPU, tokens and sequences, or its speed."""

    weights: int | None = None
    kv_cache: int | None = None
    activations: int | None = None
    kv_bytes_per_token: int | None = None
    stored: int | None = None
    """Bytes of the weights on all devices and the host together."""
    kv_room: int | None = None
    kv_tokens: int | None = None
    max_concurrency: float | None = None
    fits: bool | None = None
    capacity: int | None = None
    """Bytes of one GPU."""
    step: int | None = None
    """Bytes of a training step, of what the row's number counts."""
    saturated_tokens_per_second: float | None = None
    """Of output, where prompts come as fast as outputs end."""
    decode_tokens_per_second: float | None = None
    """Of all sequences together, at the mean context of the case's run."""
    prefill_tokens_per_second: float | None = None
    trained_tokens_per_second: float | None = None
    """Of one GPU, in training."""
    mfu_pct: float | None = None
    """As the row's publisher counts it."""
    gpu_hours: float | None = None
