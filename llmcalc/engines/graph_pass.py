"""A forward pass of llama.cpp as it is laid out: the graph, and the inputs its layers share."""

from __future__ import annotations

from dataclasses import dataclass, field

from llmcalc.blueprint.operations import Operation
from llmcalc.engines.cells import Slots
from llmcalc.engines.ggml_graph import Graph
from llmcalc.engines.kv_format import KvFormats

F32 = 4
F16 = 2
INDEX = 8
"""Cells to write to are 64-bit numbers."""
PLAIN = 2
"""Bytes of an element that a cache in plain 16 bits has; block formats are rotated first."""


@dataclass(slots=True, kw_only=True)
class Pass:
    """One micro-batch on its way through the layers."""

    graph: Graph
    slots: Slots
    formats: KvFormats
    flash: bool
    tokens: int
    sliding: bool
    caching: bool
    """False for an encoder: keys and values are those of the micro-batch, and no cache is kept."""
    indexed: bool = True
    """Whether the cells to write to are an input."""
    copies: int = 1
    """Of each input."""
    fused: bool = False
    """Whether one matrix makes queries, keys and values, which then stay as long as any is used."""
    attention_first: bool = False
    """Whether attention is projected before the feed-forward part beside it (Phi-2)."""
    padded_values: int = 0
    """Elements of a token that every layer's values are padded to; 0: none are."""
    remembered: int = 0
    """Elements that the next recurrent layer reads first, ahead of what is left of this one."""
    late: bool = False
    """Whether that happens when the experts of this layer are done."""
    before: int | None = None
    """What it has read, where it has."""
    waiting: tuple[int, int] | None = None
    """A width and what attention mixed, to be projected once a scan beside it is under way."""
    inputs: dict[str, int] = field(default_factory=dict)

    def new(self, width: int, *sources: int, inplace: bool = False) -> int:
        """A float32 tensor of `width` elements a token."""
        return self.graph.op(F32 * width * self.tokens, *sources, inplace=inplace)

    def norm(self, x: int, width: int) -> int:
        """Norm of a tensor that is used elsewhere too; its weight is multiplied in place."""
        return self.new(width, self.new(width, x), inplace=True)

    def shared(self, name: str, size: int) -> int:
        """An input that all layers use, made where it is first used."""
        if name not in self.inputs:
            self.inputs[name] = self.graph.input(size * self.copies)
        return self.inputs[name]

    def under_way(self, *, experts: bool = False) -> None:
        """What llama.cpp adds to its graph once a mixer, or the experts after it, are in it."""
        if self.waiting:
            self.waiting = (self.waiting[0], self.new(*self.waiting))
        if self.remembered and self.before is None and experts == self.late:
            self.before = self.graph.op(self.remembered * F32 * self.slots.n_parallel)

    def read(self, elements: int) -> int:
        """What a recurrence remembers of all sequences, unless it was read before."""
        found, self.before, self.remembered = self.before, None, 0
        if found is None:
            return self.graph.op(elements * F32 * self.slots.n_parallel)
        return found

    def positions(self) -> int:
        """The position of each token."""
        return self.shared("positions", 4 * self.tokens)

    def cells(self, window: int | None) -> int:
        """Cells of one stream that a layer looks at."""
        if not self.caching:
            return self.tokens
        return self.slots.window_cells(window) if window and self.sliding else self.slots.cells

    def mask(self, window: int | None) -> int:
        """Which cells each token may look at: 16 bits for a flash kernel, else 32."""
        size = F16 if self.flash else F32
        cells = self.cells(window)
        return self.shared(f"mask {bool(window)} {cells}", size * cells * self.tokens)

    def rotation(self, name: str, width: int) -> int:
        """The matrix that a cache in blocks is rotated with."""
        return self.shared(name, F32 * width * width)


def parts(operations: tuple[Operation, ...]) -> list[list[Operation]]:
    """Operations of one layer by part: each ends where it goes back to the residual stream.

    What follows experts (a shared expert and its gate) is theirs; norms before the parts are not.
    """
    found: list[list[Operation]] = []
    current: list[Operation] = []
    for operation in operations:
        if operation.name.startswith("norm_"):
            continue
        beside = operation.name.startswith("shared_expert_gate")
        if beside and not current and found:
            found[-1].append(operation)
            continue
        if operation.name == "router" and current:
            found.append(current)
            current = []
        current.append(operation)
        if getattr(operation, "to_residual", False):
            found.append(current)
            current = []
    if any(hasattr(operation, "weight") for operation in current):
        found.append(current)
    return found
