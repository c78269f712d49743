"""One weight: its shape as the paper writes it, its class for quantisation, how it shards."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Literal, NamedTuple

from llmcalc.formula import evaluate

Component = Literal[
    "embedding",
    "attention",
    "mlp",
    "experts",
    "shared_expert",
    "router",
    "ssm",
    "norm",
    "lm_head",
    "vision",
    "other",
]
COMPONENTS: tuple[Component, ...] = (
    "embedding", "attention", "mlp", "experts", "shared_expert", "router", "ssm", "norm", "lm_head",
    "vision", "other",
)  # fmt: skip

Role = Literal["embedding", "linear", "expert", "head", "norm", "router", "bias", "other"]
"""The class of a weight under a quantisation policy."""


class Weight(NamedTuple):
    """A learned tensor, or a stored buffer where `learned` is false."""

    name: str
    text: str
    """The shape in symbols, as `h·d_k, d`."""
    dims: dict[str, int]
    shape: tuple[int, ...]
    numel: int
    component: Component
    role: Role
    units: int | None = None
    """Indivisible pieces along the axis that tensor parallelism cuts; None: all on every rank."""
    axis: int = 0
    """The axis of the shape that tensor parallelism cuts."""
    experts: int = 0
    """Pieces along the first axis that expert parallelism deals out; 0: none."""
    learned: bool = True


def weight(
    name: str,
    text: str,
    dims: dict[str, int],
    component: Component,
    role: Role = "linear",
    *,
    units: int | None = None,
    axis: int = 0,
    experts: int = 0,
    learned: bool = True,
) -> Weight:
    """A weight whose shape is what `text` means for `dims`: `"h·d_k, d"` is (h·d_k, d)."""
    shape = sized(text, dims)
    return Weight(
        name, text, dims, shape, prod(shape), component, role, units, axis, experts, learned
    )


def sized(text: str, dims: dict[str, int]) -> tuple[int, ...]:
    """The shape that a text means for `dims`."""
    return tuple([_size(axis, dims) for axis in _axes(text)])


def _size(axis: str | tuple[str, ...], dims: dict[str, int]) -> int:
    """A product of symbols, or what the text of an axis means."""
    if isinstance(axis, str):
        return int(evaluate(axis, dims))
    size = 1
    for symbol in axis:
        size *= dims[symbol]
    return size


@cache
def _axes(text: str) -> tuple[str | tuple[str, ...], ...]:
    """Each axis as the symbols of a plain product, which most are, else as its text."""
    found: list[str | tuple[str, ...]] = []
    for axis in text.split(","):
        symbols = tuple(one.strip() for one in axis.split("·"))
        found.append(symbols if all(one.isidentifier() for one in symbols) else axis.strip())
    return tuple(found)
