"""The real classes of transformers keep the bytes of the `sdpa` recipe, or it is said why not.

Under FakeTensorMode on the CPU a class runs forward on shapes alone, and saved tensors are what its
autograd keeps. Two layers more keep what two layers keep: ends and loss drop out. Masks are left
out, as the class does itself where no token is padding and tensors are real. Gemma 2 is not here:
its class refuses fused attention, for the cap on its scores.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.find import card
from llmcalc.checks.hf_config import hf_config
from llmcalc.engines.kept import of_section
from llmcalc.engines.workload import Workload

if find_spec("torch") is None or find_spec("transformers") is None:
    pytest.skip("needs torch and transformers, which are not installed", allow_module_level=True)

import torch
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode

pytestmark = [pytest.mark.witness, pytest.mark.filterwarnings("ignore")]

B, S = 2, 64
T = B * S
RNG = 24
"""Bytes of random state that the flash kernel of a GPU keeps, and that of a CPU does not."""


def _theirs(name: str, layers: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Bytes saved by a model of so many layers, weights and buffers apart."""
    keys = dict(hf_config(card(name)))
    config = transformers.AutoConfig.for_model(keys.pop("model_type"), **_cut(keys, layers))
    module = importlib.import_module(
        transformers.MODEL_FOR_CAUSAL_LM_MAPPING[type(config)].__module__
    )
    for mask in ("create_causal_mask", "create_sliding_window_causal_mask"):
        if hasattr(module, mask):
            monkeypatch.setattr(module, mask, lambda *_, **__: None)
    with FakeTensorMode():
        model = transformers.AutoModelForCausalLM.from_config(
            config, dtype=torch.bfloat16, attn_implementation="sdpa"
        )
        ids = torch.zeros(B, S, dtype=torch.long)
        apart = [*model.parameters(), *model.buffers()]
        return _kept(lambda: model.train()(input_ids=ids, labels=ids, use_cache=False), apart)


def _cut(keys: dict[str, Any], layers: int) -> dict[str, Any]:
    """A config of so many layers."""
    cut = keys | {"num_hidden_layers": layers}
    if isinstance(keys.get("layer_types"), list):
        cut["layer_types"] = keys["layer_types"][:layers]
    return cut


def _kept(call: Callable[[], object], apart: list[torch.Tensor]) -> int:
    known = {one.untyped_storage()._cdata for one in apart}
    alive: list[torch.Tensor] = []
    size = 0

    def pack(one: torch.Tensor) -> torch.Tensor:
        nonlocal size
        identity = one.untyped_storage()._cdata
        if identity not in known:
            known.add(identity)
            alive.append(one)
            size += one.untyped_storage().nbytes()
        return one

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda one: one):
        call()
    return size


def _ours(name: str, layer: str) -> int:
    step = Workload(phase="train", batch=B, query=S, context=S)
    for section in lower(card(name), training=True).sections:
        if section.name == layer:
            return of_section(section, step, "sdpa")
    raise AssertionError(layer)


def _experts(count: int, k: int, *, wide: bool, normed: bool) -> int:
    """How transformers routes otherwise than the twin, in bytes of a layer.

    One grouped product's ends serve all three; Mixtral and DeepSeek keep shares of rows in float32;
    where shares are not made to sum to one, neither they nor their sum are kept.
    """
    ends = -2 * 4 * count
    shares = 2 * T * k if wide else 0
    return ends + shares - (0 if normed else 4 * T * (k + 1))


def _gemma3_norms(d: int, heads: int, d_k: int) -> int:
    """Gemma multiplies in float32 by a float32 copy of 1 + its weight.

    Two bytes an element
    more than a 16-bit factor, and the copy.
    """
    return 4 * (2 * d * T + 4 * d) + 2 * heads * d_k * T + 2 * 4 * d_k


def _latent(h: int, d_n: int, d_r: int, d_v: int, d: int) -> int:
    """Values narrower than keys have no flash kernel on a CPU, and the router casts its input.

    Queries, keys, values and weights are kept in float32 instead; so is the input of the router.
    """
    plain = T * h * 4 * (2 * (d_n + d_r) + d_v) + 4 * B * h * S * S + 2 * T * h * d_v
    fused = T * h * 2 * (2 * (d_n + d_r) + (d_n + d_v)) + 2 * T * h * d_v + 4 * T * h + 16
    return plain - fused + 4 * T * d


EXPLAINED: dict[str, tuple[str, int]] = {
    "llama2-7b": ("dense", -RNG),
    "llama3-8b": ("dense", -RNG),
    "qwen2.5-7b": ("dense", -RNG),
    "qwen3-8b": ("dense", -RNG),
    "mistral-7b-v0.3": ("dense", -RNG),
    "gemma3-1b": ("local", -RNG + _gemma3_norms(1152, 5, 256)),
    "mixtral-8x7b": ("moe", -RNG + _experts(8, 2, wide=True, normed=True)),
    "qwen3-30b-a3b": ("moe", -RNG + _experts(128, 8, wide=False, normed=False)),
    "deepseek-v2-lite": (
        "moe", _latent(16, 128, 64, 128, 2048) + _experts(64, 6, wide=True, normed=False),
    ),
}  # fmt: skip
"""By card: the layer, and what the class keeps more than we say, worked out by hand."""


@pytest.mark.parametrize("name", EXPLAINED)
def test_the_class_keeps_what_the_recipe_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    layer, difference = EXPLAINED[name]
    # DeepSeek's first layer is dense, so that the third and fourth are alike.
    four, two = (_theirs(name, layers, monkeypatch) for layers in (4, 2))
    assert (four - two) / 2 == _ours(name, layer) + difference
