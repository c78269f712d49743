"""Optimizer states: the real optimizers of torch on meta where it has them, else by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from llmcalc.catalog.recipes import optimizer, recipe
from llmcalc.engines.train.states import state_bytes
from llmcalc.engines.train.trained import Tensor

SHAPES = ((64, 48), (8, 32, 16), (100,), (3,))


def _ours(name: str, shape: tuple[int, ...], precision: str = "fp32") -> int:
    tensor = Tensor(shape, 1, len(shape) > 1, 1)
    return state_bytes(tensor, optimizer(name), recipe(precision))


def _torch(make: Any, shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> int:
    """Bytes of all states of one parameter after a step, counters apart."""
    parameter = torch.nn.Parameter(torch.zeros(shape, dtype=dtype))
    parameter.grad = torch.ones_like(parameter)
    stepping = make([parameter])
    stepping.step()
    states = stepping.state[parameter].items()
    return sum(
        one.numel() * one.element_size()
        for name, one in states
        if isinstance(one, torch.Tensor) and name != "step"
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("adamw", torch.optim.AdamW),
        ("sgd", lambda p: torch.optim.SGD(p, lr=1e-3)),
        ("sgd-momentum", lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9)),
    ],
)
def test_states_are_those_of_torch(name: str, make: Any, shape: tuple[int, ...]) -> None:
    assert _ours(name, shape) == _torch(make, shape)
    assert _ours(name, shape, "pure-bf16") == _torch(make, shape, torch.bfloat16)


@pytest.mark.parametrize("shape", SHAPES)
def test_adafactor_keeps_rows_and_columns_as_torch_s(shape: tuple[int, ...]) -> None:
    assert _ours("adafactor", shape) == _torch(torch.optim.Adafactor, shape)


def test_muon_keeps_one_momentum_of_a_matrix() -> None:
    assert _ours("muon", (64, 48)) == _torch(torch.optim.Muon, (64, 48))
    assert _ours("muon", (100,)) == 2 * 4 * 100


def test_eight_bit_states_are_bytes_and_a_maximum_for_each_block_of_256() -> None:
    assert _ours("adamw-8bit", (100, 100)) == 2 * (10_000 + 4 * 40)
    assert _ours("adamw-8bit", (4095,)) == 2 * 4 * 4095  # small tensors stay in float32
    assert _ours("adamw-8bit", (4096,)) == 2 * (4096 + 4 * 16)


def test_lion_keeps_one_moment() -> None:
    assert _ours("lion", (64, 48), "bf16-mixed") == 4 * 64 * 48


def test_galore_keeps_moments_of_the_projection_and_the_projection() -> None:
    """Table 1 of arXiv:2403.03507: m·r + 2·n·r numbers for m ≤ n."""
    assert _ours("galore", (1000, 3000)) == 4 * (1000 * 128 + 2 * 3000 * 128)
    assert _ours("galore", (100, 3000)) == 4 * 2 * 100 * 3000  # rank above the shorter side
