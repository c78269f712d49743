"""What a row configured, in our own words: all that a prediction is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec
from llmcalc.spec.settings import Settings

Aspect = Literal["weights", "cache", "room", "devices", "scratch", "tokens"]
"""What a metric may need to know of a configuration."""


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
    missing: Mapping[Aspect, str]
    """Why metrics that need an aspect cannot be predicted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What one GPU holds in this case, by our own engines; bytes, tokens and sequences."""

    weights: int
    kv_cache: int
    activations: int
    kv_bytes_per_token: int
    stored: int
    """Bytes of the weights on all devices and the host together."""
    kv_room: int | None
    kv_tokens: int | None
    max_concurrency: float | None
    fits: bool | None
    capacity: int | None
    """Bytes of one GPU."""
