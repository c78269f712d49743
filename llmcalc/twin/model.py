"""The whole model: embedding, layers, head. It runs on meta, on a CPU and on CUDA alike."""

from __future__ import annotations

from itertools import count
from math import sqrt

import torch
from torch import Tensor, nn

from llmcalc.spec.card import ModelCard, Tower
from llmcalc.spec.pattern import layer_names
from llmcalc.twin.block import BlockTwin
from llmcalc.twin.extras import hold
from llmcalc.twin.norms import norm
from llmcalc.twin.setting import Kernel, Pass, Setting
from llmcalc.twin.stack import StackTwin


class EndsTwin(nn.Module):
    """What stands before the first layer and after the last."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__()
        embedding, d = card.embedding, card.hidden_size
        inner = embedding.dim or d
        self.scale = sqrt(d) if embedding.scale else 1.0
        self.embed_tokens = nn.Embedding(card.vocab_size, inner)
        self.embed_positions = nn.Embedding(embedding.positions, d) if embedding.positions else None
        self.embed_types = nn.Embedding(embedding.types, d) if embedding.types else None
        self.project_in = nn.Linear(inner, d, bias=False) if embedding.dim else nn.Identity()
        self.embed_norm = norm(card.norm, d) if embedding.norm else nn.Identity()
        self.final_norm = norm(card.norm, d) if card.final_norm else nn.Identity()
        self.project_out: nn.Module = nn.Identity()
        self.lm_head: nn.Module = nn.Identity()
        if card.head:
            if embedding.dim:
                self.project_out = nn.Linear(d, inner, bias=False)
            self.lm_head = nn.Linear(inner, card.vocab_size, bias=card.head_bias)
            if embedding.tied:
                self.lm_head.weight = self.embed_tokens.weight
        hold(self, card.extra)

    def embedded(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """What the first layer sees of tokens [b, s]: [b, s, d]."""
        x = self.project_in(self.embed_tokens(tokens))
        if self.scale != 1.0:
            x = x * self.scale
        if self.embed_positions is not None:
            x = x + self.embed_positions(positions)
        if self.embed_types is not None:
            x = x + self.embed_types.weight[0]
        embedded: Tensor = self.embed_norm(x)
        return embedded

    def predicted(self, x: Tensor) -> Tensor:
        """Logits [b, s, V] of what the last layer puts out, or its norm where there is no head."""
        logits: Tensor = self.lm_head(self.project_out(self.final_norm(x)))
        return logits


class ModelTwin(nn.Module):
    """A language model of a card, with its encoder and towers where it has them."""

    def __init__(self, card: ModelCard, *, kernel: Kernel = "sdpa") -> None:
        super().__init__()
        setting = Setting(
            hidden_size=card.hidden_size, norm=card.norm, kernel=kernel, causal=card.causal
        )
        self.ends = EndsTwin(card)
        self.encoder = StackTwin(card.encoder, card, kernel) if card.encoder else None
        self.towers = nn.ModuleDict({one.name: _tower(one, card, kernel) for one in card.towers})
        numbers = count()
        self.layers = nn.ModuleList(
            BlockTwin(card.blocks[name], setting, numbers) for name in layer_names(card.layers)
        )

    def forward(self, tokens: Tensor, run: Pass | None = None) -> Tensor:
        """Logits [b, s, V] of tokens [b, s]; `run` remembers across calls where it has a memory.

        A decoder that looks at an encoder finds its output in `run.encoded`; without one, the
        encoder reads the same tokens.
        """
        run = run or Pass(positions=torch.arange(tokens.shape[1], device=tokens.device))
        x = self.ends.embedded(tokens, run.positions)
        if self.encoder is not None and run.encoded is None:
            run.encoded = self.encoder(x)
        for layer in self.layers:
            x = layer(x, run)
        return self.ends.predicted(x)


def _tower(tower: Tower, card: ModelCard, kernel: Kernel) -> nn.Module:
    """The stack of a tower, or as many numbers as it is said to have."""
    if tower.stack is not None:
        return StackTwin(tower.stack, card, kernel)
    return nn.ParameterList([nn.Parameter(torch.empty(tower.params or 0))])
