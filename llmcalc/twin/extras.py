"""Tensors that no part of a card has: they are held, and nothing is computed with them."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from llmcalc.spec.card import Tensor


def hold(module: nn.Module, tensors: Iterable[Tensor]) -> None:
    """Register a parameter of each shape."""
    for number, tensor in enumerate(tensors):
        name = f"extra_{number}_{tensor.name.replace('.', '_')}"
        module.register_parameter(name, nn.Parameter(torch.empty(tensor.shape)))
