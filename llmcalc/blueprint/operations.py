"""The closed set of operations between architectures and engines.

An operation carries what every engine needs and nothing of the architecture it came from: its
weights, the sizes of its product, what it remembers. `heads` and `units` say into how many
indivisible pieces tensor parallelism may cut it. They are named tuples, made with keywords: a
command makes ten thousand, and builds the classes anew each time it starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from llmcalc.blueprint.weight import Component, Weight
from llmcalc.spec.card import Placement

if TYPE_CHECKING:
    from llmcalc.blueprint.keeping.tensor import Kept, Passing

Stream = Literal["text", "encoder", "tower"]
"""Whose tokens an operation works on: the sequence's, an encoder's, an image's or a sound's."""

Mask = Literal["causal", "full", "cross"]
"""Which pairs an attention product is for: a token and those before it, all tokens, or a token and
all of the encoder's."""


class Matmul(NamedTuple):
    """Every token times one weight of [d_out, d_in]."""

    name: str
    weight: Weight
    bias: Weight | None = None
    to_residual: bool = False
    """The output is added to the residual stream, and what led to it is done with."""
    stream: Stream | None = None
    """Whose tokens, where they are not the section's."""
    backward: bool = True
    """Whether the language model's loss flows back through it."""

    @property
    def width(self) -> int:
        """Elements a token that this rank puts out."""
        return self.weight.numel // self.weight.shape[-1]

    @property
    def weights(self) -> tuple[Weight, ...]:
        """The matrix, and its bias where there is one."""
        return (self.weight, self.bias) if self.bias else (self.weight,)


class GroupedMatmul(NamedTuple):
    """Every token times the weights of `top_k` of `experts` matrices: [experts, d_out, d_in]."""

    name: str
    weight: Weight
    experts: int
    top_k: int
    bias: Weight | None = None
    groups: int = 1
    """Groups of experts, each at home on one node."""
    top_groups: int = 1
    """Groups that a token's experts lie in, at most."""

    @property
    def width(self) -> int:
        """Elements a token that this rank puts out, for the experts visited, on average."""
        return self.top_k * self.weight.numel // (self.experts * self.weight.shape[-1])

    @property
    def weights(self) -> tuple[Weight, ...]:
        """The matrices, and their biases where there are any."""
        return (self.weight, self.bias) if self.bias else (self.weight,)


class AttentionProduct(NamedTuple):
    """Queries times keys, and the weights of that times values; parameters are only sinks."""

    name: str
    heads: int
    qk_dim: int
    v_dim: int
    window: int | None = None
    mask: Mask = "causal"
    flash: bool = True
    """Whether a flash kernel computes it; learned numbers in the scores need them all."""
    backward: bool = True
    weights: tuple[Weight, ...] = ()
    rotated: bool = True
    """Whether positions are turned into queries and keys, which makes a copy of them."""


class Convolution(NamedTuple):
    """A causal convolution along the tokens, each channel by itself: [channels, kernel]."""

    name: str
    weight: Weight
    bias: Weight | None = None

    @property
    def weights(self) -> tuple[Weight, ...]:
        """The kernels, and their bias where there is one."""
        return (self.weight, self.bias) if self.bias else (self.weight,)


class Scan(NamedTuple):
    """A recurrence along the tokens that updates a state and reads it."""

    name: str
    text: str
    dims: dict[str, int]
    macs: int
    """Multiply-adds of one token, all heads together: what `text` means for `dims`."""
    units: int | None
    weights: tuple[Weight, ...] = ()


class Cache(NamedTuple):
    """What a layer keeps of every token: `units` heads, `elements` in all."""

    name: str
    text: str
    dims: dict[str, int]
    elements: int
    """Of one token, all heads together."""
    units: int | None
    """Heads that tensor parallelism deals out; None: every rank holds all of it."""
    keys: int = 0
    """The elements that are keys; the others are values. A latent is all keys."""
    window: int | None = None
    """Tokens kept at most; None: all."""
    chunked: bool = False
    """Whether the window starts anew every so many tokens instead of sliding."""
    indexes: bool = False
    """Whether it only serves to choose the tokens that another cache is read at."""


class State(NamedTuple):
    """What a layer keeps of every sequence, however long: `units` pieces, `elements` in all."""

    name: str
    text: str
    dims: dict[str, int]
    elements: int
    units: int | None
    recurrence: str = ""
    """Whose state it is, as cards name mixers; engines keep more copies or bits for some."""
    wide: bool = False
    """Whether the model asks for 32 bits an element, whatever it computes in."""
    tokens: int = 0
    """Of how many tokens it is the cache, where it is one of a fixed number."""
    keys: int = 0
    """The elements that are keys, where it is a cache."""


class Elementwise(NamedTuple):
    """A norm, an activation, a rotation: work on each element, small weights."""

    name: str
    weights: tuple[Weight, ...] = ()


class Gather(NamedTuple):
    """Rows of a table looked up for each token."""

    name: str
    weights: tuple[Weight, ...]


Operation = (
    Matmul
    | GroupedMatmul
    | AttentionProduct
    | Convolution
    | Scan
    | Cache
    | State
    | Elementwise
    | Gather
)


class Section(NamedTuple):
    """Operations that occur together `times` times: the embedding, one kind of block, the head."""

    name: str
    times: int
    operations: tuple[Operation, ...]
    kind: Literal["first", "beside", "layer", "last", "mtp"]
    """Where it stands; layers of an encoder or a tower stand beside the language model's."""
    stream: Stream = "text"
    component: Component | None = None
    """What its weights count as, whatever they are; None: as each says."""
    width: int = 0
    """Of the residual stream that a layer works on."""
    placement: Placement = "pre"
    """Where the norms of a layer stand; in a parallel one all parts see the same input."""
    per_token: int = 1
    """What it works on for one token of the language model: several patches in some towers."""
    kept: tuple[Kept, ...] = ()
    """What one occurrence keeps for a backward pass, where the ledger was lowered for training."""
    passing: tuple[Passing, ...] = ()
    """What may stand beside that on the way back: the points where most does."""


class Ledger(NamedTuple):
    """All operations of one model for one token, and the order of its layers."""

    hidden_size: int
    sections: tuple[Section, ...]
    order: tuple[str, ...]
    """Section name of every layer, first to last; pipeline parallelism cuts it."""
    mtp: tuple[Section, ...] = ()
    """Multi-token prediction, reported apart."""
    encoder_length: int | None = None
    """Tokens that the encoder always sees; None: as many as the sequence has, or no encoder."""
    family: str = ""
    """As the card names it; file formats lay some families out in ways of their own."""
    whole: Ledger | None = None
    """The model that this is one device's share of; None: this is all of it."""
    before: int = 0
    """Layers of the whole model in front of the first of this share."""

    @property
    def has_experts(self) -> bool:
        """Whether the language model has a mixture of experts."""
        return any(
            isinstance(operation, GroupedMatmul)
            for section in self.sections
            for operation in section.operations
        )
