"""Layers beside the language model's: an encoder, or a tower of another modality."""

from __future__ import annotations

from itertools import count

import torch
from torch import Tensor, nn

from llmcalc.spec.card import ModelCard, Stack
from llmcalc.spec.pattern import layer_names
from llmcalc.twin.block import BlockTwin
from llmcalc.twin.extras import hold
from llmcalc.twin.norms import norm
from llmcalc.twin.setting import Kernel, Pass, Setting


class StackTwin(nn.Module):
    """Layers that see all tokens, and a norm; all of them or those of `layers`."""

    def __init__(
        self,
        stack: Stack,
        card: ModelCard,
        kernel: Kernel,
        *,
        layers: tuple[str, ...] | None = None,
    ) -> None:
        super().__init__()
        width, kind = stack.hidden_size or card.hidden_size, stack.norm or card.norm
        self.setting = Setting(hidden_size=width, norm=kind, kernel=kernel, causal=False)
        numbers = count()
        names = layer_names(stack.layers) if layers is None else layers
        self.layers = nn.ModuleList(
            BlockTwin(stack.blocks[name], self.setting, numbers) for name in names
        )
        self.final_norm = norm(kind, width) if stack.final_norm else nn.Identity()
        hold(self, stack.extra)

    def forward(self, x: Tensor) -> Tensor:
        """[b, s, d] to [b, s, d]."""
        run = Pass(positions=torch.arange(x.shape[1], device=x.device))
        for layer in self.layers:
            x = layer(x, run)
        out: Tensor = self.final_norm(x)
        return out
