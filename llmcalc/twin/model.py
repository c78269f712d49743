"""The whole model: embedding, layers, head. It runs on meta, on a CPU and on CUDA alike."""

from __future__ import annotations

from itertools import count
from math import sqrt

import torch
from torch import Tensor, nn

from llmcalc.spec.card import ModelCard
from llmcalc.spec.pattern import layer_names
from llmcalc.twin.block import BlockTwin
from llmcalc.twin.norms import norm
from llmcalc.twin.setting import Kernel, Pass, Setting


class ModelTwin(nn.Module):
    """A causal language model of a card, all its layers or those of `layers`."""

    def __init__(
        self, card: ModelCard, *, layers: tuple[str, ...] | None = None, kernel: Kernel = "sdpa"
    ) -> None:
        super().__init__()
        setting = Setting(hidden_size=card.hidden_size, norm=card.norm, kernel=kernel)
        embedding, d = card.embedding, card.hidden_size
        self.scale = sqrt(d) if embedding.scale else 1.0
        self.embed_tokens = nn.Embedding(card.vocab_size, embedding.dim or d)
        self.embed_positions = nn.Embedding(embedding.positions, d) if embedding.positions else None
        self.embed_types = nn.Embedding(embedding.types, d) if embedding.types else None
        self.project_in = (
            nn.Linear(embedding.dim, d, bias=False) if embedding.dim else nn.Identity()
        )
        self.embed_norm = norm(card.norm, d) if embedding.norm else nn.Identity()
        numbers = count()
        names = layer_names(card.layers) if layers is None else layers
        self.layers = nn.ModuleList(
            BlockTwin(card.blocks[name], setting, numbers) for name in names
        )
        self.final_norm = norm(card.norm, d) if card.final_norm else nn.Identity()
        self.project_out = (
            nn.Linear(d, embedding.dim, bias=False)
            if embedding.dim and card.head
            else nn.Identity()
        )
        self.lm_head = (
            nn.Linear(embedding.dim or d, card.vocab_size, bias=card.head_bias)
            if card.head
            else nn.Identity()
        )
        if card.head and embedding.tied:
            self.lm_head.weight = self.embed_tokens.weight
        for tensor in card.extra:
            self.register_parameter(
                tensor.name.replace(".", "_"), nn.Parameter(torch.empty(tensor.shape))
            )

    def forward(self, tokens: Tensor, run: Pass | None = None) -> Tensor:
        """Logits [b, s, V] of tokens [b, s]; `run` remembers across calls where it has a memory."""
        run = run or Pass(positions=torch.arange(tokens.shape[1], device=tokens.device))
        x = self.embedded(tokens, run)
        for layer in self.layers:
            x = layer(x, run)
        logits: Tensor = self.lm_head(self.project_out(self.final_norm(x)))
        return logits

    def embedded(self, tokens: Tensor, run: Pass) -> Tensor:
        """What the first layer sees, [b, s, d]."""
        x = self.project_in(self.embed_tokens(tokens))
        if self.scale != 1.0:
            x = x * self.scale
        if self.embed_positions is not None:
            x = x + self.embed_positions(run.positions)
        if self.embed_types is not None:
            x = x + self.embed_types.weight[0]
        embedded: Tensor = self.embed_norm(x)
        return embedded
