"""Mixers whose memory of the past has a fixed size: state-space models and linear attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmcalc.spec.limits import Bool, Few, Width


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba1:
    """Selective state space of Mamba (arXiv:2312.00752), one state a channel."""

    intermediate_size: Width
    """Channels inside, usually twice hidden_size."""
    state_size: Width = 16
    dt_rank: Width
    conv_kernel: Few = 4
    conv_bias: Bool = True
    bias: Bool = False
    """Of the projections in and out."""
    inner_norms: Bool = False
    """Learned norms of dt, B and C (Jamba)."""
    kind: Literal["mamba1"] = "mamba1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba2:
    """State-space duality of Mamba-2 (arXiv:2405.21060), one decay a head."""

    num_heads: Width
    head_dim: Width
    state_size: Width = 128
    n_groups: Width = 1
    """Groups of heads that share B and C; the gated norm inside works on each."""
    conv_kernel: Few = 4
    conv_bias: Bool = True
    bias: Bool = False
    gated_norm: Bool = True
    """A learned norm where the gate is multiplied in; without it there is the gate alone."""
    state_dtype: Literal["fp32"] | None = None
    """What the config asks engines to keep the recurrent state in; left out: as the model.

    It is `mamba_ssm_dtype` or `mamba_ssm_cache_dtype` there.
    """
    kind: Literal["mamba2"] = "mamba2"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedDeltaNet:
    """Gated delta rule (arXiv:2412.06464) as Qwen3-Next has it."""

    num_k_heads: Width
    num_v_heads: Width
    head_k_dim: Width
    head_v_dim: Width
    conv_kernel: Few = 4
    state_dtype: Literal["fp32"] | None = None
    """What the config asks engines to keep the recurrent state in; left out: as the model.

    It is `mamba_ssm_dtype` or `mamba_ssm_cache_dtype` there.
    """
    kind: Literal["gated_deltanet"] = "gated_deltanet"


@dataclass(frozen=True, slots=True, kw_only=True)
class KimiDelta:
    """Kimi delta attention (arXiv:2510.26692): the delta rule with a decay for each channel."""

    num_heads: Width
    head_dim: Width
    conv_kernel: Few = 4
    kind: Literal["kda"] = "kda"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lightning:
    """Lightning attention of MiniMax-01 (arXiv:2501.08313): linear attention with a fixed decay."""

    num_heads: Width
    head_dim: Width
    kind: Literal["lightning"] = "lightning"


@dataclass(frozen=True, slots=True, kw_only=True)
class RwkvTime:
    """Time mixing of RWKV-4 (arXiv:2305.13048)."""

    attention_hidden_size: Width | None = None
    """Left out: hidden_size."""
    kind: Literal["rwkv_time"] = "rwkv_time"


@dataclass(frozen=True, slots=True, kw_only=True)
class RwkvChannel:
    """Channel mixing of RWKV-4, its feed-forward part."""

    intermediate_size: Width
    kind: Literal["rwkv_channel"] = "rwkv_channel"
