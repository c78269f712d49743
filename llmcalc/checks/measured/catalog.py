"""The catalog in memory: a file of measurements asks for the same few names thousands of times."""

from __future__ import annotations

from functools import cache

from llmcalc.catalog import find
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec


@cache
def cards() -> dict[str, ModelCard]:
    """Every card by name."""
    return {card.name: card for card in find.cards()}


@cache
def gpus() -> dict[str, GpuSpec]:
    """Every GPU by name."""
    return {gpu.name: gpu for gpu in find.gpus()}
