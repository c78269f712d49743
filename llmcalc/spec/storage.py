"""How tensors are laid out in memory: planes of numbers, and the rules that choose a layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from llmcalc.spec.limits import Alias, Bool, Line, Name, Range, Text, WidthOrZero, Word

WeightClass = Literal["embedding", "linear", "expert", "head", "norm", "router", "bias", "other"]
WeightName = Annotated[
    str,
    Text(r"^[A-Za-z_][A-Za-z0-9_./]*$", 80, "the name of a weight, as `mlp/down_proj`"),
]
Count = Annotated[int, Range(1, 100_000)]
Part = tuple[WidthOrZero, Count]
"""A fraction: numerator and denominator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """One array of a stored matrix: an item for every tile of it.

    A matrix is the last two axes of a tensor; a tensor of experts is one matrix an expert.
    """

    name: Word
    """What is counted, in explanations: elements, blocks, scales, words of zeros."""
    bits: Annotated[int, Range(1, 1 << 20)]
    """Of one item."""
    rows: Literal["all"] | Count = 1
    """Rows of a tile."""
    cols: Literal["all", "group"] | Count = 1
    """Columns of a tile; `group`: as many as the format's group size."""
    run: Count | None = None
    """A tile of so many elements of the matrix in order, whatever its rows."""
    word: Annotated[int, Range(8, 64)] | None = None
    """Bits of the numbers that items are packed into; None: an item is whole bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementFormat:
    """How one tensor is stored."""

    name: Name
    planes: tuple[Plane, ...]
    source: Line = ""
    """Where the layout was read; empty: as the scheme says."""
    needs_imatrix: Bool = False
    """Whether llama.cpp refuses to make it without an importance matrix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A format for the weights of which everything said here holds; a later rule wins."""

    format: Name
    files: tuple[Name, ...] = ()
    """Policies that it is for."""
    weights: tuple[WeightName, ...] = ()
    """Names of weights, as the scheme names them, or groups of the scheme."""
    classes: tuple[WeightClass, ...] = ()
    components: tuple[Word, ...] = ()
    """Parts of a model that they count as, as `ssm`."""
    of: tuple[Name, ...] = ()
    """Formats that the rules before have chosen."""
    families: tuple[Name, ...] = ()
    having: tuple[WeightName, ...] = ()
    """Weights of which the model holds one."""
    without: tuple[WeightName, ...] = ()
    """Weights of which the model holds none."""
    head: Bool | None = None
    """Whether logits come from it: the head, or a token table where no head is stored."""
    tower: Bool | None = None
    """Whether it belongs to a tower of another modality."""
    vector: Bool | None = None
    """Whether it is one row."""
    imatrix: Bool | None = None
    """Whether the file is made with an importance matrix."""
    experts: Count | None = None
    """Experts of a layer, exactly."""
    least_experts: Count | None = None
    least_gqa: Count | None = None
    """Query heads of a key head, at least."""
    layers: Count | None = None
    """Layers of the model, exactly."""
    ragged: Count | None = None
    """Rows that are no multiple of this."""
    first: Count | None = None
    """Positions before this one."""
    since: Part | None = None
    """Positions from this part of all on, rounded down."""
    until: Part | None = None
    """Positions before this part of all, rounded down."""
    more_bits: Bool | None = None
    """The first and last eighth, and every third between: llama.cpp's use_more_bits."""

    @property
    def is_placed(self) -> bool:
        """Whether it asks for a position; it then names one group, which says how to count."""
        return (self.first, self.since, self.until, self.more_bits) != (None,) * 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """What a scheme calls weights; those of one layer under one name are one tensor there."""

    tensor: WeightName
    weights: tuple[WeightName, ...]
    """Our names, or component and name as `attention/gate_proj`."""
    cls: WeightClass | None = None
    """Their class, where it is another than ours."""
    families: tuple[Name, ...] = ()
    having: tuple[WeightName, ...] = ()
    without: tuple[WeightName, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One of the tensors that a scheme splits a weight into."""

    tensor: WeightName
    shape: Line
    """In the symbols of the weight, as `h·r_kv, d_n`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A weight that a scheme stores as several tensors."""

    weight: WeightName
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Tensors that rules speak of together, and how their positions are counted.

    `tensors`: the how-manieth tensor of the group, of all in it. `layers`: the layer in a model of
    experts, else the how-manieth tensor, of all layers. `order`: the how-manieth tensor of all
    layers, in any model.
    """

    name: WeightName
    tensors: tuple[WeightName, ...]
    counted: Literal["tensors", "layers", "order"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """What the policies of one kind of file share: its formats, names and rules."""

    name: Name
    title: Line
    aliases: tuple[Alias, ...] = ()
    source: Line
    formats: tuple[ElementFormat, ...]
    names: tuple[Naming, ...] = ()
    splits: tuple[Split, ...] = ()
    groups: tuple[Group, ...] = ()
    rules: tuple[Rule, ...] = ()
    """After those of a policy."""
