"""Which module stands for which part of a card."""

from __future__ import annotations

from typing import Any

from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe
from llmcalc.spec.recurrent import (
    GatedDeltaNet,
    KimiDelta,
    Lightning,
    Mamba1,
    Mamba2,
    RwkvChannel,
    RwkvTime,
)
from llmcalc.twin.attention import AttentionTwin
from llmcalc.twin.feedforward import MlpTwin, MoeTwin
from llmcalc.twin.latent_attention import LatentAttentionTwin
from llmcalc.twin.linear_attention import GatedDeltaNetTwin, KimiDeltaTwin, LightningTwin
from llmcalc.twin.rwkv import RwkvChannelTwin, RwkvTimeTwin
from llmcalc.twin.state_space import Mamba1Twin, Mamba2Twin

TWINS: dict[type, type[Any]] = {
    Attention: AttentionTwin,
    LatentAttention: LatentAttentionTwin,
    GatedDeltaNet: GatedDeltaNetTwin,
    KimiDelta: KimiDeltaTwin,
    Lightning: LightningTwin,
    Mamba1: Mamba1Twin,
    Mamba2: Mamba2Twin,
    RwkvTime: RwkvTimeTwin,
    RwkvChannel: RwkvChannelTwin,
    Mlp: MlpTwin,
    Moe: MoeTwin,
}
"""Each takes (part, setting, number) and maps (x, run) to the shape of x."""
