"""What two witnesses must agree on, to the integer."""

from __future__ import annotations

from dataclasses import dataclass, fields

from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe

LORA_RANK = 16
FEW, MANY, MOST = 32, 64, 16_384
"""Tokens; the memory-efficient kernel keeps its sums for whole groups of 32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The batch and the tokens of each sequence that quantities are compared at."""

    batch: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantities:
    """Exact numbers of one model, from one witness."""

    params: int
    buffers: int
    flops_prefill: int
    flops_decode: int
    """Of one token after all others but one; 0 for a model that does not generate."""
    flops_train: int
    memory_bytes: int
    """KV cache and states of all sequences in bf16."""
    adam_elements: int
    lora_attention: int
    """Adapters of rank 16 on the projections of softmax attention."""
    kept_sdpa: int
    """Bytes that autograd saves of a step with fused attention, weights and loss apart."""
    kept_eager: int
    """The same with attention's scores materialised."""
    kept_fused: int
    """The same as `kept_sdpa` with fused norms and gated activations."""
    kept_frozen: int
    """The same as `kept_sdpa` where no weight gets a gradient."""
    kept_checkpointed: int
    """Bytes saved by layers that are computed again: their inputs."""


NAMES = tuple(field.name for field in fields(Quantities))


def recurrent(card: ModelCard) -> bool:
    """Whether some layers walk their tokens one by one."""
    parts = [part for block in card.blocks.values() for part in block.parts]
    return any(not isinstance(part, (Attention, LatentAttention, Mlp, Moe)) for part in parts)


def sizes(card: ModelCard) -> Sizes:
    """Small where tokens are walked one by one, else more than the widest window."""
    parts = [part for block in card.blocks.values() for part in block.parts]
    if recurrent(card):
        return Sizes(batch=2, tokens=FEW)
    windows = [part.window or 0 for part in parts if isinstance(part, Attention)]
    tokens = max([MANY, *(window + 8 for window in windows)])
    return Sizes(batch=2, tokens=min(-(-tokens // FEW) * FEW, MOST))
