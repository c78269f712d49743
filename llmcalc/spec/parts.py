"""The parts a block is made of: one frozen dataclass a kind.

`kind` is the key that a card writes (`- attn: {num_heads: 32}`). Names are those of Hugging Face
configs. Every default is what most models do, so that a card says only what is special.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from llmcalc.spec.limits import Bool, Length, Width, WidthOrZero
from llmcalc.spec.recurrent import (
    GatedDeltaNet,
    KimiDelta,
    Lightning,
    Mamba1,
    Mamba2,
    RwkvChannel,
    RwkvTime,
)

Activation = Literal["silu", "gelu", "relu", "relu2"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Softmax attention: multi-head, grouped-query (fewer `num_kv_heads`) or multi-query."""

    num_heads: Width
    num_kv_heads: Width | None = None
    """Number of key and value heads; left out: as many as query heads."""
    head_dim: Width | None = None
    """Size of a query and key head; left out: hidden_size / num_heads."""
    v_head_dim: Width | None = None
    """Size of a value head; left out: head_dim."""
    qkv_bias: Bool = False
    k_bias: Bool | None = None
    """Of keys where it differs from queries and values (Whisper has none); left out: alike."""
    o_bias: Bool = False
    qk_norm: Literal["head", "full"] | None = None
    """Norm of queries and keys: over each head (weight of head_dim) or over all heads at once."""
    sinks: Bool = False
    """One learned logit a head that takes attention away from the tokens (gpt-oss)."""
    output_gate: Bool = False
    """A gate as wide as the attention output, from the same input as the queries (Qwen3-Next)."""
    window: Length | None = None
    """Tokens a query can see, itself included; left out: all before it."""
    chunked: Bool = False
    """The window starts anew every `window` tokens instead of sliding along (Llama 4)."""
    rotary_dim: WidthOrZero | None = None
    """Dimensions of a head that carry rotary positions; left out: all, 0: none."""
    cross: Bool = False
    """Looks at the encoder's output instead of its own tokens."""
    relative_buckets: WidthOrZero = 0
    """Rows of a learned table of relative position biases, one column a head (T5's first layer)."""
    k_eq_v: Bool = False
    """Values are the keys before norm and rotation; there is no value projection (Gemma 4)."""
    kv_reuse: Bool = False
    """Reads the cache of an earlier layer and keeps none; its key and value weights lie idle."""
    kind: Literal["attn"] = "attn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexer:
    """The lightning indexer of DeepSeek-V3.2: a small attention that picks tokens by score."""

    num_heads: Width
    head_dim: Width
    topk: Length
    """Tokens that a query may attend to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention:
    """Multi-head latent attention (MLA) of DeepSeek-V2: keys and values from one cached latent."""

    num_heads: Width
    q_lora_rank: Width | None = None
    """Rank of the query projection; left out: one full matrix."""
    kv_lora_rank: Width
    qk_nope_head_dim: Width
    qk_rope_head_dim: Width
    v_head_dim: Width
    indexer: Indexer | None = None
    """Sparse attention: each query attends to the tokens that the indexer picks."""
    kind: Literal["mla"] = "mla"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mlp:
    """The feed-forward part: gated (three matrices) or plain (two)."""

    intermediate_size: Width
    gated: Bool = True
    bias: Bool = False
    activation: Activation = "silu"
    kind: Literal["mlp"] = "mlp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moe:
    """Routed experts, of which each token visits `num_experts_per_tok`, and shared ones for all."""

    num_experts: Width
    num_experts_per_tok: Width
    intermediate_size: Width
    """Of one routed expert."""
    shared_intermediate_size: WidthOrZero = 0
    """Of all shared experts together, which are one wide MLP; 0: none."""
    shared_gate: Bool = False
    """A sigmoid gate of one row before the shared expert (Qwen2-MoE)."""
    gated: Bool = True
    router_bias: Bool = False
    expert_bias: Bool = False
    latent_size: Width | None = None
    """Width that experts work in, between two projections (Nemotron-3); left out: hidden_size."""
    zero_experts: WidthOrZero = 0
    """Experts that return their input, at no cost but a row of the router (LongCat)."""
    correction_bias: Bool = False
    """A stored buffer, one number an expert, that balances the load (DeepSeek-V3); not learned."""
    n_group: Width = 1
    """Groups that experts are dealt into, in training one on each node (DeepSeek-V2 and V3)."""
    topk_group: Width = 1
    """Groups that the experts of one token lie in, at most."""
    activation: Activation = "silu"
    kind: Literal["moe"] = "moe"


Part = (
    Attention
    | LatentAttention
    | GatedDeltaNet
    | KimiDelta
    | Lightning
    | Mamba1
    | Mamba2
    | RwkvTime
    | RwkvChannel
    | Mlp
    | Moe
)
PARTS: tuple[type[Part], ...] = get_args(Part)
