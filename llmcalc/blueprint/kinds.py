"""Which function lowers which kind of part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llmcalc.blueprint.attention import lower_attention
from llmcalc.blueprint.context import Context
from llmcalc.blueprint.feedforward import lower_mlp, lower_moe
from llmcalc.blueprint.latent_attention import lower_latent_attention
from llmcalc.blueprint.linear_attention import (
    lower_gated_deltanet,
    lower_kimi_delta,
    lower_lightning,
)
from llmcalc.blueprint.operations import Operation
from llmcalc.blueprint.rwkv import lower_rwkv_channel, lower_rwkv_time
from llmcalc.blueprint.state_space import lower_mamba1, lower_mamba2
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

LOWERINGS: dict[type, Callable[[Any, Context], tuple[Operation, ...]]] = {
    Attention: lower_attention,
    LatentAttention: lower_latent_attention,
    GatedDeltaNet: lower_gated_deltanet,
    KimiDelta: lower_kimi_delta,
    Lightning: lower_lightning,
    Mamba1: lower_mamba1,
    Mamba2: lower_mamba2,
    RwkvTime: lower_rwkv_time,
    RwkvChannel: lower_rwkv_channel,
    Mlp: lower_mlp,
    Moe: lower_moe,
}
