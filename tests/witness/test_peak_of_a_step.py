"""`train` against a real step: what torch's autograd and optimizers hold, stretch by stretch.

The twin runs forward, backward and an optimizer step on the meta device; every storage is counted
while it lives. What is compared is what `llmcalc train` answers of plain PyTorch on one GPU, at the
point where each stretch needs most.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import pytest

from llmcalc.api.plans import Asked, plan
from llmcalc.api.train import TrainResult, train
from llmcalc.catalog.find import card
from llmcalc.spec.card import ModelCard
from llmcalc.spec.pattern import layer_names

if find_spec("torch") is None:
    pytest.skip("needs torch, which is not installed", allow_module_level=True)

import torch
from torch.distributed._tools.mem_tracker import MemTracker

from tests.witness.live import Live
from tests.witness.steps import Step, adapted, peaks

pytestmark = [pytest.mark.witness, pytest.mark.filterwarnings("ignore")]

POINTS = {
    "forward": "all layers and the loss are computed",
    "loss": "the gradient of the logits is there",
    "head": "the head is gone back through",
    "last": "the last layer is gone back through",
    "first": "the first layer is gone back through",
    "table": "all gradients are there",
    "step": "the optimizer steps",
}
"""Stretches of a real step by what the answer calls the point where each needs most."""

BF16: dict[str, Any] = {"precision": "pure-bf16"}
AGAIN = BF16 | {"recompute": "full"}


def _cut(name: str, layers: int = 3) -> ModelCard:
    """The card with its last layers alone."""
    whole = card(name)
    return replace(whole, layers=tuple(layer_names(whole.layers)[-layers:]))


def _ours(
    of: ModelCard, step: Step, asked: dict[str, Any], *, dropout: bool = True
) -> dict[str, int]:
    """Bytes of live tensors that are answered, without what cuBLAS is given."""
    of_adapters = {"dropout": dropout} if asked.get("method", "full") != "full" else {}
    chosen = plan(Asked(seq=step.tokens, micro_batch=step.batch, **asked, **of_adapters))
    (found,) = train(of, chosen).results
    assert isinstance(found, TrainResult)
    at = {one.at: one.total for one in found.timeline}
    return {name: at[point] - chosen.framework.workspace for name, point in POINTS.items()}


def _rotations(of: ModelCard, step: Step) -> int:
    """Bytes of the cosines and sines of all positions, which the answer leaves out."""
    widths = {"llama3-8b": 128, "gemma3-1b": 256 + 256, "mixtral-8x7b": 128, "gpt2": 0}[of.name]
    return 2 * step.tokens * widths * step.dtype.itemsize


LOSS, IDS = 8, 8
"""Bytes of the loss with its gradient, and of one token number."""


@pytest.mark.parametrize("name", ["gpt2", "llama3-8b"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
def test_the_ends_of_a_step_are_exact(name: str, dtype: torch.dtype, kernel: Any) -> None:
    """Forward, loss and step, to the byte: what is left are tables of rotation and the loss."""
    of, step = _cut(name), Step(dtype=dtype, kernel=kernel)
    precision = "fp32" if dtype == torch.float32 else "pure-bf16"
    ours = _ours(of, step, {"precision": precision, "kernels": kernel})
    theirs = peaks(of, step)
    around = _rotations(of, step) + LOSS
    assert [theirs[one] - ours[one] for one in ("forward", "loss")] == [around, around]
    assert theirs["step"] - ours["step"] == IDS * step.batch * step.tokens


CASES: dict[str, tuple[str, Step, dict[str, Any]]] = {
    "short": ("llama3-8b", Step(), BF16),
    "long": ("llama3-8b", Step(batch=8, tokens=2048), BF16),
    "computed again": ("llama3-8b", Step(batch=4, tokens=2048, recompute=True), AGAIN),
    "scores kept": ("llama3-8b", Step(tokens=2048, kernel="eager"), BF16 | {"kernels": "eager"}),
    "summed": ("llama3-8b", Step(micro_batches=2), BF16 | {"global_batch": 4}),
    "float32": ("llama3-8b", Step(dtype=torch.float32), {"precision": "fp32"}),
    "tied": ("gemma3-1b", Step(), BF16),
    "tied and long": ("gemma3-1b", Step(batch=8, tokens=2048), BF16),
    "tied and computed again": ("gemma3-1b", Step(batch=4, tokens=2048, recompute=True), AGAIN),
    "tied and summed": ("gemma3-1b", Step(micro_batches=2), BF16 | {"global_batch": 4}),
    "LayerNorm": ("gpt2", Step(batch=8, tokens=1024), BF16),
    "LayerNorm computed again": ("gpt2", Step(batch=4, tokens=1024, recompute=True), AGAIN),
    "experts": ("mixtral-8x7b", Step(), BF16),
    "experts and long": ("mixtral-8x7b", Step(batch=8, tokens=2048), BF16),
    "experts computed again": ("mixtral-8x7b", Step(batch=4, tokens=2048, recompute=True), AGAIN),
}


@pytest.mark.parametrize("case", CASES)
def test_the_peak_is_that_of_a_real_step(case: str) -> None:
    """Within a tenth of a percent, and each stretch within half a percent of that.

    The rest: rotations; of a stretch inside layers, the gradients of weights that are made beside
    the last product's; a checkpoint that is a LayerNorm's input as well, counted twice.
    """
    name, step, asked = CASES[case]
    of = _cut(name)
    ours, theirs = _ours(of, step, asked), peaks(of, step)
    peak = max(theirs.values())
    assert max(ours.values()) == pytest.approx(peak, rel=1e-3)
    off = {one: (ours[one] - theirs[one]) / peak for one in POINTS}
    assert {one: share for one, share in off.items() if abs(share) > 5e-3} == {}


@pytest.mark.parametrize(("name", "momentum"), [("sgd", 0.0), ("sgd-momentum", 0.9)])
def test_optimizers_without_roots_step_in_place(name: str, momentum: float) -> None:
    def sgd(parameters: Any) -> torch.optim.Optimizer:
        return torch.optim.SGD(parameters, lr=0.1, momentum=momentum, foreach=True)

    of, step = _cut("llama3-8b"), Step(optimizer=sgd)
    ours, theirs = _ours(of, step, BF16 | {"optimizer": name}), peaks(of, step)
    assert theirs["step"] - ours["step"] == IDS * step.batch * step.tokens


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("again", [False, True])
def test_adapters_beside_frozen_weights(dropout: float, *, again: bool) -> None:
    """The rest: rotations, and the embedded tokens, which are the first checkpoint as well."""
    of = _cut("llama3-8b")
    step = Step(batch=4, tokens=2048, recompute=again, prepare=adapted(16, dropout))
    asked = (AGAIN if again else BF16) | {"method": "lora", "rank": 16}
    ours = _ours(of, step, asked, dropout=bool(dropout))
    theirs = peaks(of, step)
    embedded = 0 if again else 2 * step.batch * step.tokens * of.hidden_size
    assert max(theirs.values()) - embedded == pytest.approx(max(ours.values()), rel=1e-4)


def test_torch_s_own_tracker_counts_the_same() -> None:
    """torch.distributed._tools.MemTracker, but for its rounding of small tensors to 512 bytes."""
    module = torch.nn.Sequential(*(torch.nn.Linear(256, 256, device="meta") for _ in range(4)))
    x = torch.empty(64, 256, device="meta")
    with Live(*module.parameters(), x) as live:
        module(x).sum().backward()
    module.zero_grad()
    theirs = MemTracker()
    theirs.track_external(module, x)
    with theirs:
        module(x).sum().backward()
    (found,) = theirs.get_tracker_snapshot("peak").values()
    assert live.peak == pytest.approx(found["Total"], abs=20 * 512)
