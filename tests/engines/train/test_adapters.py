"""What adapters keep, against real low-rank modules inside the twin on meta."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from llmcalc.api.plans import Asked, Method, plan
from llmcalc.blueprint import lower
from llmcalc.blueprint.keeping.tensor import Kernel
from llmcalc.catalog.find import card
from llmcalc.checks import counters
from llmcalc.checks.layers import layers
from llmcalc.engines.train.activations import layer_bytes
from llmcalc.engines.train.plan import Plan

RANK, BATCH, SEQ = 8, 2, 64
NAMES = {
    "q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "o_proj",
    "gate": "gate_proj", "up": "up_proj", "down": "down_proj",
    "out": "out_proj", "x": "x_proj", "dt": "dt_proj",
    "key": "key", "value": "value", "receptance": "receptance",
}  # fmt: skip


class Adapted(nn.Module):
    """W·x + B·A·dropout(x) with W frozen, as PEFT writes it."""

    def __init__(self, base: nn.Linear, dropout: float) -> None:
        super().__init__()
        self.base, self.dropout = base.requires_grad_(requires_grad=False), dropout
        self.a = nn.Linear(base.in_features, RANK, bias=False)
        self.b = nn.Linear(RANK, base.out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Both products."""
        # The kernel of a GPU, whose mask has a byte an element; on meta torch would take another.
        seen = torch.native_dropout(x, self.dropout, True)[0] if self.dropout else x
        low: Tensor = self.b(self.a(seen))
        out: Tensor = self.base(x) + low
        return out


class Scaled(Adapted):
    """DoRA as PEFT writes it: both products times a learned length over that of W + B·A."""

    def __init__(self, base: nn.Linear, dropout: float) -> None:
        super().__init__(base, dropout)
        self.length = nn.Parameter(torch.ones(base.out_features))

    def forward(self, x: Tensor) -> Tensor:
        """The norm is no part of the graph."""
        with torch.no_grad():
            norm = (self.base.weight + self.b.weight @ self.a.weight).norm(dim=1)
        scale = self.length / norm
        whole: Tensor = self.base(x)
        return whole + (scale - 1) * whole + scale * self.b(self.a(x))


def _twin(
    name: str, targets: set[str], dropout: float, kernel: Kernel, kind: type[Adapted] = Adapted
) -> int:
    """Bytes that autograd saves in one layer with adapters."""
    (layer,) = layers(card(name), batch=BATCH, tokens=SEQ, kernel=kernel)
    layer.module.requires_grad_(requires_grad=False)
    for parent in list(layer.module.modules()):
        for target in targets:
            base = getattr(parent, NAMES[target], None)
            if isinstance(base, nn.Linear):
                with torch.device("meta"):
                    setattr(parent, NAMES[target], kind(base, dropout).bfloat16())
    run = layer.prepared()
    shared = [one for both in run.rotations.values() for one in both]
    x = layer.input(grad=True)
    apart = [*layer.module.parameters(), *shared]
    return counters.kept(lambda: layer.module(x, run), apart)


def _plan(
    targets: set[str], dropout: float, method: Method = "lora", kernel: Kernel = "sdpa"
) -> Plan:
    asked = Asked(
        method=method,
        rank=RANK,
        targets=frozenset(targets),
        seq=SEQ,
        micro_batch=BATCH,
        kernels=kernel,
    )
    found = plan(asked)
    return replace(found, framework=replace(found.framework, adapter_dropout=bool(dropout)))


def _ours(name: str, chosen: Plan) -> int:
    (layer,) = (one for one in lower(card(name), training=True).sections if one.kind == "layer")
    return layer_bytes(layer, chosen)


@pytest.mark.parametrize("name", ["llama2-7b", "llama3-8b", "qwen2.5-7b", "phi-2", "falcon-7b"])
@pytest.mark.parametrize("dropout", [0.0, 0.05])
@pytest.mark.parametrize(
    "targets", [{"q", "v"}, {"q", "k", "v", "o"}, {"q", "k", "v", "o", "gate", "up", "down"}]
)
@pytest.mark.parametrize("kernel", ["eager", "sdpa"])
def test_kept_bytes_equal_the_twin_s(
    name: str, targets: set[str], dropout: float, kernel: Kernel
) -> None:
    if name in {"phi-2", "falcon-7b"}:
        targets = targets - {"gate"}
    ours = _ours(name, _plan(targets, dropout, kernel=kernel))
    assert ours == _twin(name, targets, dropout, kernel)


@pytest.mark.parametrize("dropout", [0.0, 0.05])
@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("mamba-130m", {"out"}),
        ("mamba-130m", {"x", "dt", "out"}),
        ("falcon-mamba-7b", {"x"}),
        ("mamba2-130m", {"out"}),
    ],
)
def test_mixers_of_fixed_memory_keep_what_their_adapters_see(
    name: str, targets: set[str], dropout: float
) -> None:
    assert _ours(name, _plan(targets, dropout)) == _twin(name, targets, dropout, "sdpa")


@pytest.mark.parametrize("dropout", [0.0, 0.05])
def test_both_parts_of_rwkv_keep_their_mixes_for_adapters(dropout: float) -> None:
    ours = {"key", "value", "receptance", "out"}
    ours |= {"channel.key", "channel.value", "channel.receptance"}
    theirs = _twin("rwkv4-169m", {"key", "value", "receptance", "out"}, dropout, "sdpa")
    assert _ours("rwkv4-169m", _plan(ours, dropout)) == theirs


def test_names_of_targets_and_all_linear_are_the_same() -> None:
    named = {"q", "k", "v", "o", "gate", "up", "down"}
    found = [_ours("llama2-7b", _plan(one, 0.0)) for one in (named, {"all-linear"})]
    assert found[0] == found[1] == _twin("llama2-7b", named, 0.0, "sdpa")


@pytest.mark.parametrize("targets", [{"q"}, {"q", "k", "v", "o", "gate", "up", "down"}])
def test_dora_keeps_both_products_of_each_target(targets: set[str]) -> None:
    ours = _ours("llama3-8b", _plan(targets, 0.0, "dora"))
    theirs = _twin("llama3-8b", targets, 0.0, "sdpa", Scaled)
    # Each length and each quotient once, as large as one output, whatever the batch.
    outputs = {"q": 4096, "k": 1024, "v": 1024, "o": 4096, "gate": 14336, "up": 14336, "down": 4096}
    small = sum(2 * outputs[one] for one in targets)
    assert 0 <= theirs - ours <= 4 * small


def test_quantised_products_keep_their_inputs() -> None:
    """The kernels of bitsandbytes save those of both parts, 2 · 2·d, and of the last product."""
    lora = _ours("llama2-7b", _plan({"q"}, 0.05))
    quantised = _ours("llama2-7b", _plan({"q"}, 0.05, "qlora"))
    assert quantised - lora == BATCH * SEQ * (2 * 2 * 4096 + 2 * 11008)
