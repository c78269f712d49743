"""Multi-token prediction heads as the twin's modules have them; they stand beside the model."""

from __future__ import annotations

from itertools import count

import torch
from torch import nn

from llmcalc.checks import counters
from llmcalc.spec.card import ModelCard
from llmcalc.twin.block import BlockTwin
from llmcalc.twin.norms import norm
from llmcalc.twin.setting import Setting


def measured_mtp(card: ModelCard) -> int:
    """Numbers of all prediction heads, buffers included; 0 where the card has none."""
    if card.mtp is None:
        return 0
    with torch.device("meta"):
        head = _head(card)
    return card.mtp.layers * (counters.parameters(head) + counters.buffers(head))


def _head(card: ModelCard) -> nn.ModuleDict:
    """Norms of token and state, the projection of both, one layer, a norm, tables of its own."""
    assert card.mtp is not None  # noqa: S101  the caller asked
    d, setting = card.hidden_size, Setting(hidden_size=card.hidden_size, norm=card.norm)
    modules: dict[str, nn.Module] = {
        "token_norm": norm(card.norm, d),
        "hidden_norm": norm(card.norm, d),
        "project": nn.Linear(2 * d, d, bias=False),
        "block": BlockTwin(card.blocks[card.mtp.block], setting, count()),
        "final_norm": norm(card.norm, d),
    }
    if card.mtp.own_embedding:
        modules["embed_tokens"] = nn.Embedding(card.vocab_size, d)
    if card.mtp.own_head:
        modules["lm_head"] = nn.Linear(d, card.vocab_size, bias=False)
    return nn.ModuleDict(modules)
