"""Engines of other people as data: what they add to a model's own memory, and how they divide it.

A file says which of the known forms an engine follows, with the constants of that form. The forms
themselves are code: how a cache is laid out, what scratch space grows with, who gets what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from llmcalc.spec.block_rules import BlockRules
from llmcalc.spec.limits import (
    Alias,
    Amount,
    Bool,
    Length,
    Line,
    Name,
    Range,
    Width,
    WidthOrZero,
    Word,
)

Share = Annotated[float, Range(0, 1)]
Number = Annotated[float, Range(0, 2**40)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """A number of bytes that an engine takes for itself on each GPU, and where it was read."""

    name: Line
    bytes: Length
    when: Literal["always", "several", "graphs"] = "always"
    """Always, where several GPUs work on one model, or where CUDA graphs are captured."""
    outside_budget: Bool = False
    """Whether it comes on top of the share that the engine may use."""
    source: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A default value, on some GPUs only where it says so."""

    value: Number
    at_least_gib: Amount | None = None
    """Only on GPUs with so much memory."""
    not_on: tuple[Word, ...] = ()
    """Not on GPUs whose name starts so."""
    above_context: Length | None = None
    """Only for models that are served with longer sequences."""
    text_only: Bool = False
    """Only for models without towers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting that the engine knows: its own word for it, and its default."""

    flag: Line
    """As typed on the engine's command line."""
    default: tuple[Choice, ...] = ()
    """The first that applies; none: as many tokens as the longest sequence, or not set."""
    source: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCache:
    """A cache that grows with each sequence."""

    form: Literal["tokens"]
    doubled_layers: WidthOrZero = 0
    """Layers whose old and new cache are alive at once when a token is appended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCache:
    """A cache of cells laid out when the engine starts (llama.cpp)."""

    form: Literal["cells"]
    pad: Width = 256
    """Cells come in multiples of it."""
    pad_plain: Width = 256
    """The same without flash attention."""
    pad_window: Bool = True
    """Whether the pool of windowed layers is padded too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCache:
    """A pool of tokens, and slots for states beside it (SGLang)."""

    form: Literal["pool"]
    page: Width = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerScratch:
    """The widest moment of one layer, and the logits."""

    form: Literal["layer"]
    logits_bytes: WidthOrZero
    """Bytes of one logit, its copies included."""
    source: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileScratch:
    """What a profiling run at the engine's limits reaches: the forward pass, or the sampler."""

    form: Literal["profile"]
    sampler_copies: Amount
    """Float32 copies of the logits of max_num_seqs sequences alive at once."""
    hidden_copies: Amount
    """16-bit copies of the hidden states of max_num_batched_tokens tokens beside them."""
    forward_copies: Amount
    """16-bit copies of the hidden states beside the widest part of a layer."""
    scan_copies: WidthOrZero = 0
    """16-bit copies of its output that the kernels of a recurrence hold while they work."""
    source: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphScratch:
    """The compute buffer that ggml lays out for the graph of one micro-batch."""

    form: Literal["graph"]
    mixed_input: Bool = True
    """Whether a batch may mix tokens and embeddings, which keeps room for both."""
    all_outputs: Bool = False
    """Whether room is kept for the logits of a whole micro-batch."""
    cell_indexes: Bool = True
    """Whether the cells to write to are an input, or a place in the graph."""
    alignment: Width = 32
    """Bytes that tensors start at a multiple of."""
    copies: Width = 1
    """Of each input, where several devices work as a pipeline."""
    source: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Who gets the memory of a GPU.

    share: weights, scratch and cache together may use a share of the memory.
    static: weights and cache may use a share of what is free before loading.
    rest: the cache takes a share of what is free after loading and scratch.
    """

    form: Literal["share", "static", "rest"]
    source: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How the engine is started: a line for its command, each setting by the engine's own flag."""

    start: tuple[Line, ...]
    """Words of the line: `{model}` is the model's id, `{file}` its file, `{options}` the rest."""
    flags: dict[Word, Line]
    """Flags by what they say: a field of the split or of the settings, kv, kv_values, context."""
    weights: dict[Name, Line] = field(default_factory=dict)
    """Words for formats of weights that the engine has to be told."""
    kv: dict[Name, Line] = field(default_factory=dict)
    """The engine's words for formats of the cache that it has to be told."""
    switches: dict[Word, tuple[Line, Line]] = field(default_factory=dict)
    """Words for false and for true, of what is no number; `-`: say nothing, `+`: the flag alone."""
    source: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """One inference engine."""

    name: Name
    title: Line
    aliases: tuple[Alias, ...] = ()
    version: Line
    """The versions that its numbers hold for."""
    source: Line
    overheads: tuple[Overhead, ...] = ()
    settings: dict[Word, Setting]
    """By the names of spec.settings; the engine has no others."""
    cache: TokenCache | BlockRules | CellCache | PoolCache
    scratch: LayerScratch | ProfileScratch | GraphScratch
    budget: Budget
    vocab_multiple: Width = 1
    """Rows of embedding and head are padded to a multiple of this and of the tensor ranks."""
    spare: Literal["inner", "last", "first"] = "inner"
    """Stages that take a layer more where they do not divide a model evenly: from the last but one
    towards the first, the last ones, or the first ones."""
    experts_over_data: Bool = False
    """Whether data ranks cut the rows of experts too, instead of copying them."""
    uneven_experts: Bool = False
    """Whether some expert ranks may hold an expert more than others."""
    embedding_on_host: Bool = False
    """Whether the token embedding stays in host memory."""
    chunks_in_flight: WidthOrZero = 0
    """Chunks of a prompt that stages of a pipeline work on until all are through; 0: any number."""
    layers_over_devices: Bool = False
    """Whether several GPUs hold layers each, unless a split is asked for."""
    weight_formats: tuple[Name, ...] = ()
    """Formats that it loads, as advice tries them; others may work too."""
    kv_formats: tuple[Name, ...]
    """Formats of its cache."""
    shares_prefix: Bool = True
    """Whether what sequences start with in common is cached once."""
    kv_apart: Bool = False
    """Whether keys and values may be stored in different formats."""
    operators_per_layer: WidthOrZero = 0
    """Kernels that wait for a launch each; 0 where a graph launches all of them at once."""
    efficiency: Name = "served"
    """The file that says what it reaches of a device's peaks."""
    full_load: Name | None = None
    """The same where memory is full of sequences; None: alike."""
    like: Name | None = None
    """A runtime whose measured errors stand beside its numbers where it has none of its own."""
    stored_as: dict[Name, Name] = field(default_factory=dict)
    """What formats of weights become in the engine's own files."""
    commands: dict[Name, Command] = field(default_factory=dict)
    """How it is started, by the name that --emit takes."""
