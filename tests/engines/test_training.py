"""What each ZeRO stage leaves on a rank, for numbers that do not divide."""

from __future__ import annotations

import pytest

from llmcalc.engines.training import SHARDED, Sharding, held_bytes

PARTS = {"weights": 2, "gradients": 4, "master_weights": 5, "optimizer": 8}
"""Bytes of a parameter."""


def _held(sharding: Sharding, ranks: int) -> tuple[int, ...]:
    """Bytes of each part of 101 parameters on one rank."""
    return tuple(
        held_bytes(N=101, bytes=bytes, ranks=ranks if part in SHARDED[sharding] else 1)
        for part, bytes in PARTS.items()
    )


@pytest.mark.parametrize(
    ("sharding", "weights", "gradients", "master", "optimizer"),
    [
        ("ddp", 202, 404, 505, 808),
        ("zero1", 202, 404, 64, 101),
        ("zero2", 202, 51, 64, 101),
        ("zero3", 26, 51, 64, 101),
        ("fsdp", 26, 51, 64, 101),
    ],
)
def test_each_scheme_deals_out_its_states_rounded_up(
    sharding: Sharding, weights: int, gradients: int, master: int, optimizer: int
) -> None:
    """101 parameters on 8 ranks: a share of ceil(101 · bytes / 8)."""
    assert _held(sharding, 8) == (weights, gradients, master, optimizer)


@pytest.mark.parametrize("sharding", list(SHARDED))
def test_one_rank_holds_everything(sharding: Sharding) -> None:
    assert sum(_held(sharding, 1)) == 19 * 101


def test_held_bytes_are_exact_where_floats_are_not() -> None:
    assert held_bytes(N=10**16 + 1, bytes=2, ranks=2) == 10**16 + 1
