"""Static training memory by recipe and ZeRO stage, for numbers that do not divide."""

from __future__ import annotations

import pytest

from llmcalc.engines.training import SHARDED, Sharding, held_bytes, static_memory
from llmcalc.spec.recipe import Recipe

RECIPE = Recipe(
    name="x", title="X", source="by hand", weights=2, gradients=4, master_weights=5, optimizer=8
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
    found = static_memory(101, RECIPE, sharding, 8)
    assert (found.weights, found.gradients, found.master_weights, found.optimizer) == (
        weights, gradients, master, optimizer,
    )  # fmt: skip
    assert found.total == weights + gradients + master + optimizer


@pytest.mark.parametrize("sharding", list(SHARDED))
def test_one_rank_holds_everything(sharding: Sharding) -> None:
    assert static_memory(101, RECIPE, sharding, 1).total == 19 * 101


def test_held_bytes_are_exact_where_floats_are_not() -> None:
    assert held_bytes(N=10**16 + 1, bytes=2, ranks=2) == 10**16 + 1
