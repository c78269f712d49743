"""A model card: the architecture of one model as named blocks and a pattern of layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmcalc.spec.limits import (
    Alias,
    Bool,
    Few,
    Length,
    Line,
    Name,
    Params,
    Vocabulary,
    Width,
    WidthOrZero,
    Word,
)
from llmcalc.spec.parts import Moe, Part

Norm = Literal["rms", "layer", "layer_nobias", "none"]
Placement = Literal["pre", "post", "output", "sandwich", "parallel"]
"""Where the norms of a block stand: before each part, after each is added (BERT), on what each puts
out (OLMo 2), on both sides (Gemma 2), or before parts that all see the same input (GPT-J)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """The token table and what stands beside it."""

    tied: Bool = False
    """The output head is the token table."""
    positions: WidthOrZero = 0
    """Rows of a learned position table, as stored (OPT keeps two more than its context)."""
    types: WidthOrZero = 0
    """Rows of a token-type table (BERT)."""
    norm: Bool = False
    """A norm right after the embedding (BLOOM, BERT)."""
    dim: Width | None = None
    """Width of the table where it is not hidden_size; two matrices lead in and out (OPT-350m)."""
    scale: Literal["sqrt_hidden"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor that occurs in one family only, or only in the published file."""

    name: Word
    shape: tuple[Vocabulary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One kind of layer: its norms of hidden_size and its parts, in order."""

    parts: tuple[Part, ...]
    norms: Few = 2
    placement: Placement = "pre"
    extra: tuple[Tensor, ...] = ()
    """Tensors of each such layer that no part has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Layers beside those of the language model: an encoder, or a tower of another modality."""

    hidden_size: Width | None = None
    """Left out: as the card's."""
    norm: Norm | None = None
    """Left out: as the card's."""
    blocks: dict[Word, Block]
    layers: tuple[Line, ...]
    final_norm: Bool = True
    length: Length | None = None
    """Tokens that it always sees (Whisper: 1,500 frames); left out: as the sequence has."""
    extra: tuple[Tensor, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tower:
    """What turns images or sound into tokens: a stack, or a bare count where nobody itemised it."""

    name: Word
    modality: Literal["vision", "audio"] = "vision"
    patches_per_token: Width = 1
    """Patches, or frames, that one token of the language model stands for: 4 where 2 x 2 are
    merged."""
    stack: Stack | None = None
    params: Params | None = None
    """Parameters in all, where there is no stack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mtp:
    """Multi-token prediction heads after the last layer; reported apart from the total."""

    block: Word
    layers: Few = 1
    own_embedding: Bool = False
    own_head: Bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A count that somebody else published, and how it relates to the learned parameters."""

    params: Params
    relation: Line
    source: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """Everything the engines and the twin know of a model."""

    name: Name
    family: Name
    aliases: tuple[Alias, ...] = ()
    released: Line | None = None
    """Year and month, as 2024-12."""
    source: Line
    """Where the numbers of this card come from."""
    confidence: Literal["high", "medium", "low"] = "high"
    """How well the source is confirmed; `low` cards say what to doubt in `notes`."""
    notes: Line | None = None
    published: Published | None = None
    stored: tuple[Tensor, ...] = ()
    """What the published file holds besides the parameters: buffers, duplicates."""
    hidden_size: Width
    vocab_size: Vocabulary
    """Rows of the token table as stored, padding included."""
    max_position_embeddings: Length | None = None
    """The longest context; left out: no limit."""
    norm: Norm = "rms"
    embedding: Embedding = Embedding()
    blocks: dict[Word, Block]
    layers: tuple[Line, ...]
    """Patterns over block names, as `3*dense`, `58*moe` or `10*(5*local global)`."""
    causal: Bool = True
    """Each token sees only those before it; false for encoders as BERT, which cache nothing."""
    final_norm: Bool = True
    head: Bool = True
    head_bias: Bool = False
    encoder: Stack | None = None
    """Of an encoder-decoder model, whose decoder `blocks` are; they share the token table."""
    towers: tuple[Tower, ...] = ()
    mtp: Mtp | None = None
    extra: tuple[Tensor, ...] = ()

    @property
    def has_experts(self) -> bool:
        """Whether the language model has a mixture of experts."""
        return any(isinstance(part, Moe) for block in self.blocks.values() for part in block.parts)
