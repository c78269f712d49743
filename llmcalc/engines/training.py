"""What does training hold whatever the batch? Weights, gradients, masters, Adam's moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmcalc.formula import formula
from llmcalc.spec.recipe import Recipe

Sharding = Literal["ddp", "zero1", "zero2", "zero3", "fsdp"]

SHARDED: dict[Sharding, tuple[str, ...]] = {
    "ddp": (),
    "zero1": ("master_weights", "optimizer"),
    "zero2": ("gradients", "master_weights", "optimizer"),
    "zero3": ("weights", "gradients", "master_weights", "optimizer"),
    "fsdp": ("weights", "gradients", "master_weights", "optimizer"),
}
"""What each scheme deals out among the data ranks (ZeRO, arXiv:1910.02054, figure 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticMemory:
    """Bytes per GPU that no batch changes."""

    weights: int
    gradients: int
    master_weights: int
    optimizer: int

    @property
    def total(self) -> int:
        """All four."""
        return self.weights + self.gradients + self.master_weights + self.optimizer


@formula("ceil(N · bytes / ranks)", source="ZeRO, arXiv:1910.02054, section 3.1", unit="bytes")
def held_bytes(*, N: int, bytes: int, ranks: int) -> int:  # noqa: N803  the field's symbol
    """Bytes of one state of N parameters, dealt out among so many ranks."""
    return -(-N * bytes // ranks)


def static_memory(params: int, recipe: Recipe, sharding: Sharding, ranks: int) -> StaticMemory:
    """The four states of `params` trainable parameters on one of `ranks` GPUs."""

    def part(name: str) -> int:
        held: int = held_bytes(
            N=params, bytes=getattr(recipe, name), ranks=ranks if name in SHARDED[sharding] else 1
        )
        return held

    return StaticMemory(
        weights=part("weights"),
        gradients=part("gradients"),
        master_weights=part("master_weights"),
        optimizer=part("optimizer"),
    )
