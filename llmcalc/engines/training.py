"""What data ranks deal out among them, and what each holds of it."""

from __future__ import annotations

from typing import Literal

from llmcalc.formula import formula

Sharding = Literal["ddp", "zero1", "zero2", "zero3", "fsdp"]

SHARDED: dict[Sharding, tuple[str, ...]] = {
    "ddp": (),
    "zero1": ("master_weights", "optimizer"),
    "zero2": ("gradients", "master_weights", "optimizer"),
    "zero3": ("weights", "gradients", "master_weights", "optimizer"),
    "fsdp": ("weights", "gradients", "master_weights", "optimizer"),
}
"""What each scheme deals out among the data ranks (ZeRO, arXiv:1910.02054, figure 1)."""


@formula("ceil(N · bytes / ranks)", source="ZeRO, arXiv:1910.02054, section 3.1", unit="bytes")
def held_bytes(*, N: int, bytes: int, ranks: int) -> int:  # noqa: N803  the field's symbol
    """Bytes of one state of N parameters, dealt out among so many ranks."""
    return -(-N * bytes // ranks)
