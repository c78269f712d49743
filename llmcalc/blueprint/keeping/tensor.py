"""Tensors that a forward pass keeps for the backward pass, as autograd saves them in bf16 training.

Two recipes: `eager` materialises attention's scores, `sdpa` runs a fused kernel. A matmul keeps its
input, so an input is listed by whoever puts it out, once for all matmuls that share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmcalc.formula import evaluate
from llmcalc.spec.card import Norm
from llmcalc.spec.parts import Activation

Per = Literal["token", "encoded", "pair", "cross pair", "sequence", "layer", "position", "square"]
"""What a kept tensor has elements for: each token, each of the encoder's, each query-key pair, each
sequence, the layer, each position or pair of positions whatever the batch."""

Kernel = Literal["eager", "sdpa"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One saved tensor."""

    name: str
    text: str
    dims: dict[str, int]
    elements: int
    bytes: int
    """Of one element."""
    per: Per = "token"
    kernel: Kernel | None = None
    """The recipe that keeps it; None: both."""


def kept(
    name: str,
    text: str,
    dims: dict[str, int],
    bytes: int = 2,
    *,
    per: Per = "token",
    kernel: Kernel | None = None,
) -> Kept:
    """A saved tensor of `text` elements; bf16 unless `bytes` says otherwise."""
    elements = int(evaluate(text, dims))
    return Kept(
        name=name, text=text, dims=dims, elements=elements, bytes=bytes, per=per, kernel=kernel
    )


def by_norm(
    name: str, width: str, dims: dict[str, int], kind: Norm, *, rows: str = "1", per: Per = "token"
) -> tuple[Kept, ...]:
    """Inside a norm over `width` elements in `rows` rows.

    RMS works on a float32 copy, torch's LayerNorm on its input.
    """
    if kind == "rms":
        return (
            kept(f"{name} in float32", width, dims, 4, per=per),
            kept(f"{name} scale", rows, dims, 4, per=per),
            kept(f"{name} before its weight", width, dims, per=per),
        )
    return (
        kept(f"{name} input", width, dims, per=per),
        kept(f"{name} mean and deviation", f"2·({rows})", dims, 4, per=per),
    )


def by_activation(
    width: str, dims: dict[str, int], activation: Activation, *, gated: bool
) -> tuple[Kept, ...]:
    """Between the projections of a feed-forward part, whose last keeps its input."""
    before = {"silu": 1, "gelu": 1, "relu": 0, "relu2": 1}[activation]
    names = ["activation input"] * before + ["activation output"]
    if gated:
        names += ["up projection", "their product"]
    return tuple(kept(name, width, dims) for name in names)
