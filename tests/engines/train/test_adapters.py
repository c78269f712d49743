"""What adapters keep, against real low-rank modules inside the twin on meta."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from llmcalc.api.plans import Method
from llmcalc.blueprint.keeping.tensor import Kernel
from llmcalc.catalog.find import card
from llmcalc.catalog.recipes import FRAMEWORKS
from llmcalc.checks import counters
from llmcalc.checks.layers import layers
from llmcalc.engines.train.activations import kept, layer_bytes
from tests.training import planned

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


def _ours(
    name: str,
    targets: set[str],
    dropout: float,
    method: Method = "lora",
    kernel: Kernel = "sdpa",
    framework: str = "generic",
) -> int:
    """Bytes that one layer keeps by our account."""
    ledger, found = planned(
        name, method=method, rank=RANK, targets=frozenset(targets), seq=SEQ, micro_batch=BATCH,
        kernels=kernel, framework=framework, precision="pure-bf16",
    )  # fmt: skip
    chosen = replace(found, adapters=replace(found.adapters, dropout=bool(dropout)))
    (layer,) = (one for one in ledger.sections if one.kind == "layer")
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
    ours = _ours(name, targets, dropout, kernel=kernel)
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
    assert _ours(name, targets, dropout) == _twin(name, targets, dropout, "sdpa")


@pytest.mark.parametrize("dropout", [0.0, 0.05])
def test_both_parts_of_rwkv_keep_their_mixes_for_adapters(dropout: float) -> None:
    ours = {"key", "value", "receptance", "out"}
    ours |= {"channel.key", "channel.value", "channel.receptance"}
    theirs = _twin("rwkv4-169m", {"key", "value", "receptance", "out"}, dropout, "sdpa")
    assert _ours("rwkv4-169m", ours, dropout) == theirs


def test_names_of_targets_and_all_linear_are_the_same() -> None:
    named = {"q", "k", "v", "o", "gate", "up", "down"}
    found = [_ours("llama2-7b", one, 0.0) for one in (named, {"all-linear"})]
    assert found[0] == found[1] == _twin("llama2-7b", named, 0.0, "sdpa")


@pytest.mark.parametrize("targets", [{"q"}, {"q", "k", "v", "o", "gate", "up", "down"}])
def test_dora_keeps_both_products_of_each_target(targets: set[str]) -> None:
    ours = _ours("llama3-8b", targets, 0.0, "dora")
    theirs = _twin("llama3-8b", targets, 0.0, "sdpa", Scaled)
    # Each length and each quotient once, as large as one output, whatever the batch.
    outputs = {"q": 4096, "k": 1024, "v": 1024, "o": 4096, "gate": 14336, "up": 14336, "down": 4096}
    small = sum(2 * outputs[one] for one in targets)
    assert 0 <= theirs - ours <= 4 * small


@pytest.mark.parametrize("framework", ["generic", "huggingface", "torchtune"])
@pytest.mark.parametrize("dropout", [0.0, 0.05])
def test_quantised_products_keep_no_input(framework: str, dropout: float) -> None:
    """Not bitsandbytes' since 0.43.2, nor torchao's LinearNF4, which saves its weight alone."""
    lora, quantised = (
        _ours("llama2-7b", {"q"}, dropout, method, framework=framework)
        for method in ("lora", "qlora")
    )
    assert quantised == lora


def test_products_of_older_bitsandbytes_keep_their_inputs() -> None:
    """Those of both parts, 2 · 2·d, and of the last product, frozen as they are."""
    both = [
        _ours("llama2-7b", {"q"}, 0.05, method, framework="fsdp-qlora")
        for method in ("lora", "qlora")
    ]
    assert both[1] - both[0] == BATCH * SEQ * (2 * 2 * 4096 + 2 * 11008)


def test_a_loop_that_holds_the_loss_keeps_them_twice() -> None:
    """LitGPT's, whose loss of the step before holds the inputs on the contexts of its products."""
    once, twice = (
        _ours("llama2-7b", {"q"}, 0.05, "qlora", framework=one) for one in ("litgpt-2023", "litgpt")
    )
    assert twice - once == BATCH * SEQ * (2 * 2 * 4096 + 2 * 11008)


def test_unpacked_matrices_are_kept_where_a_plain_product_saves_them() -> None:
    """AutoGPTQ's older kernel: 4·d² of attention and 3·d·d_ff of Llama-2-7B, 2 bytes each."""
    plain = _ours("llama2-7b", {"q"}, 0.05, "qlora")
    kept = _ours("llama2-7b", {"q"}, 0.05, "qlora", framework="qwen-deepspeed")
    assert kept - plain == 2 * (4 * 4096 * 4096 + 3 * 4096 * 11008)


def test_one_copy_of_the_input_stands_beside_a_layer_that_computes_three() -> None:
    """Phi-3's qkv_proj: by dropout 3 bytes of 3,072 each token, not thrice that."""
    named = {framework: _ours("phi-3-mini", {"qkv"}, 0.05, framework=framework)
             for framework in ("generic", "huggingface")}  # fmt: skip
    apart = BATCH * SEQ * 2 * (3 * 3072 + 2 * RANK)
    assert named["generic"] - named["huggingface"] == apart


PLAIN = [one.name for one in FRAMEWORKS.all() if not (one.quantised_inputs or one.keeps_widened)]


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(["llama3-8b", "mixtral-8x7b", "deepseek-v2-lite", "phi-3-mini"]),
    framework=st.sampled_from(PLAIN),
    recompute=st.sampled_from(["none", "full"]),
    batch=st.integers(1, 8),
    seq=st.integers(1, 4096),
)  # fmt: skip
def test_qlora_never_keeps_more_than_lora(
    name: str, framework: str, recompute: str, batch: int, seq: int
) -> None:
    """Where no kernel keeps an input or a widened matrix: the weights are smaller, nothing else."""
    found = [
        kept(*planned(name, method=method, framework=framework, recompute=recompute,
                      micro_batch=batch, seq=seq))
        for method in ("lora", "qlora")
    ]  # fmt: skip
    assert found[0] == found[1]
