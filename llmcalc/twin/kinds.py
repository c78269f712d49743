"""Which module stands for which part of a card."""

from __future__ import annotations

from typing import Any

from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe
from llmcalc.twin.attention import AttentionTwin
from llmcalc.twin.feedforward import MlpTwin, MoeTwin
from llmcalc.twin.latent_attention import LatentAttentionTwin

TWINS: dict[type, type[Any]] = {
    Attention: AttentionTwin,
    LatentAttention: LatentAttentionTwin,
    Mlp: MlpTwin,
    Moe: MoeTwin,
}
"""Each takes (part, setting, number) and maps (x, run) to the shape of x."""
