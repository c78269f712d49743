"""States of the real optimizers after a step on a CPU: bitsandbytes, transformers and torch."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from llmcalc.api.plans import Asked, plan
from llmcalc.blueprint import lower
from llmcalc.catalog.find import card
from llmcalc.catalog.recipes import optimizer, recipe
from llmcalc.engines.train.lasting import lasting
from llmcalc.engines.train.states import state_bytes
from llmcalc.engines.train.trained import Tensor

if find_spec("torch") is None:
    pytest.skip("needs torch, which is not installed", allow_module_level=True)

import torch

pytestmark = [pytest.mark.witness, pytest.mark.filterwarnings("ignore")]

SHAPES = ((64, 48), (4095,), (4096,), (100, 100), (8, 64, 32))
SHARED = {"step", "qmap1", "qmap2", "RMS"}
"""A counter, maps of 256 numbers that all tensors share, and one number a tensor."""

BITSANDBYTES = {
    "adamw-8bit": "AdamW8bit",
    "lion-8bit": "Lion8bit",
    "paged-adamw": "PagedAdamW32bit",
    "paged-adamw-8bit": "PagedAdamW8bit",
}


def _theirs(make: Any, shape: tuple[int, ...], dtype: torch.dtype) -> int:
    parameter = torch.nn.Parameter(torch.zeros(shape, dtype=dtype))
    parameter.grad = torch.ones_like(parameter)
    stepping = make([parameter])
    stepping.step()
    return sum(
        one.numel() * one.element_size()
        for name, one in stepping.state[parameter].items()
        if isinstance(one, torch.Tensor) and name not in SHARED
    )


def _ours(name: str, shape: tuple[int, ...], precision: str) -> int:
    return state_bytes(Tensor(shape, 1, len(shape) > 1, 1), optimizer(name), recipe(precision))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", BITSANDBYTES)
@pytest.mark.parametrize(
    ("dtype", "precision"), [(torch.float32, "fp32"), (torch.bfloat16, "pure-bf16")]
)
def test_states_are_those_of_bitsandbytes(
    name: str, shape: tuple[int, ...], dtype: torch.dtype, precision: str
) -> None:
    bnb = pytest.importorskip("bitsandbytes", reason="needs bitsandbytes, which is not installed")
    make = getattr(bnb.optim, BITSANDBYTES[name])
    assert _ours(name, shape, precision) == _theirs(make, shape, dtype)


@pytest.mark.parametrize("shape", SHAPES)
def test_states_of_adafactor_are_those_of_transformers(shape: tuple[int, ...]) -> None:
    reason = "needs transformers, which is not installed"
    library = pytest.importorskip("transformers.optimization", reason=reason)
    assert _ours("adafactor", shape, "fp32") == _theirs(library.Adafactor, shape, torch.float32)


def test_trainer_keeps_32_bit_states_of_the_token_table() -> None:
    """Transformers trainer.py: GlobalOptimManager overrides every nn.Embedding."""
    ledger = lower(card("llama3-8b"), training=True)
    asked = {"optimizer": "adamw-8bit", "precision": "bf16-mixed"}
    held = {
        name: lasting(ledger, plan(Asked(framework=name, **asked))).optimizer
        for name in ("generic", "huggingface")
    }
    table = 128_256 * 4096
    assert held["huggingface"] - held["generic"] == 2 * table * 4 - 2 * (table + 4 * table // 256)
