"""A card as a model with random weights on a device, cut to the layers that fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

import torch
from torch import Tensor, nn

from llmcalc.bench.buffers import DTYPES, fill
from llmcalc.bench.device import Device
from llmcalc.spec.card import ModelCard
from llmcalc.spec.measurement import Dtype
from llmcalc.spec.pattern import layer_names
from llmcalc.twin.attention import AttentionTwin
from llmcalc.twin.block import BlockTwin
from llmcalc.twin.feedforward import MoeTwin
from llmcalc.twin.model import EndsTwin, ModelTwin
from llmcalc.twin.setting import Kernel, Setting

DEVIATION = 0.02
"""Of the weights, as models are initialised: sums neither vanish nor overflow."""


def cut(card: ModelCard, dtype: Dtype, room: int) -> ModelCard:
    """The card with as many layers as `room` bytes hold, of each kind its share, at least one.

    Towers see no text and are left out.
    """
    names = layer_names(card.layers)
    setting = Setting(hidden_size=card.hidden_size, norm=card.norm, causal=card.causal)
    with torch.device("meta"):
        ends = _numbers(EndsTwin(card))
        sizes = {
            name: _numbers(BlockTwin(card.blocks[name], setting, count())) for name in set(names)
        }
    size = DTYPES[dtype].itemsize
    mean = sum(sizes[name] * times for name, times in Counter(names).items()) / len(names)
    fitting = int((room / size - ends) / max(mean, 1))
    layers = max(1, min(len(names), fitting))
    kept = tuple(names[at * len(names) // layers] for at in range(layers))
    return replace(card, layers=kept, towers=())


def materialised(card: ModelCard, device: Device, dtype: Dtype, kernel: Kernel) -> ModelTwin:
    """The twin of a card with random weights on the device."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(DTYPES[dtype])
    try:
        with torch.device("meta"):
            model = ModelTwin(card, kernel=kernel)
    finally:
        torch.set_default_dtype(before)
    model = model.to_empty(device=device.torch).requires_grad_(False)
    for tensor in (*model.parameters(), *model.buffers()):
        fill(tensor.data, DEVIATION)
    return model


def weight_bytes(model: ModelTwin, batch: int) -> int:
    """Bytes of the weights that a decode step reads: no token table but its rows, no encoder.

    Of experts those that `batch` tokens visit, on average, if each chose at random.
    """
    ends = (model.ends.project_in, model.ends.project_out, model.ends.final_norm)
    read = {id(one): one for module in (*ends, model.ends.lm_head) for one in module.parameters()}
    experts = 0.0
    for module in model.layers.modules():
        own = dict(module.named_parameters(recurse=False))
        if isinstance(module, MoeTwin):
            experts += _visited(module, batch) * _bytes(own.values())
        else:
            read |= {id(one): one for one in own.values()}
    for one in _unread(model):
        read.pop(id(one), None)
    return _bytes(read.values()) + round(experts)


def _visited(module: MoeTwin, batch: int) -> float:
    """The share of experts that a batch visits: 1 − (1 − k/E)^B."""
    part = module.part
    return float(1 - (1 - part.num_experts_per_tok / part.num_experts) ** batch)


def _unread(model: ModelTwin) -> Iterator[Tensor]:
    """Projections to keys and values that others have made already."""
    for module in model.layers.modules():
        if isinstance(module, AttentionTwin) and (module.part.cross or module.part.kv_reuse):
            for name in ("k_proj", "v_proj"):
                if hasattr(module, name):
                    yield from getattr(module, name).parameters()


def _numbers(module: nn.Module) -> int:
    return sum(one.numel() for one in module.parameters())


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(one.numel() * one.element_size() for one in tensors)
