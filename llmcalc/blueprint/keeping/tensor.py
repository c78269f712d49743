"""Tensors that a forward pass keeps for the backward pass, as autograd saves them in bf16 training.

Three recipes: `eager` materialises attention's scores, `sdpa` runs a fused kernel for them inside
plain modules, `fused` has kernels for norms and gated activations as well, which keep their inputs
and compute the rest again. A matmul keeps its input, so an input is listed by whoever puts it out,
once for all matmuls that share it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from llmcalc.formula import evaluate
from llmcalc.spec.card import Norm
from llmcalc.spec.parts import Activation

Per = Literal["token", "encoded", "pair", "cross pair", "sequence", "layer", "position", "square"]
"""What a kept tensor has elements for: each token, each of the encoder's, each query-key pair, each
sequence, the layer, each position or pair of positions whatever the batch."""

Kernel = Literal["eager", "sdpa", "fused"]

Runs = Literal["eager", "flash", "plain", "fused"]
"""Ways of computing that keep a tensor: some kernels together."""

RUNS: dict[Runs, frozenset[Kernel]] = {
    "eager": frozenset({"eager"}),
    "flash": frozenset({"sdpa", "fused"}),
    "plain": frozenset({"eager", "sdpa"}),
    "fused": frozenset({"fused"}),
}

NeededFor = Literal["", "product", "table"]
"""Weights that a tensor is kept for: matrices of products, or scales of norms and tables of rows;
empty: activations need it."""

Frozen = frozenset[NeededFor]
TRAINED: Frozen = frozenset()
FROZEN: Frozen = frozenset({"product", "table"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One saved tensor."""

    name: str
    text: str
    dims: dict[str, int]
    elements: int
    bytes: int
    """Of one element; negative where a tensor is let go."""
    per: Per = "token"
    runs: Runs | None = None
    """The recipes that keep it; None: all."""
    needed_for: NeededFor = ""
    """The weights whose gradient alone needs it: where they are frozen it is not kept."""
    feeds: tuple[str, ...] = ()
    """Products that it is the input of, where nothing but their weights needs it."""
    residual: bool = False
    """Whether it is as wide as the residual stream, which tensor ranks do not divide by heads."""
    narrowed: bool = False
    """Whether it is a narrower copy of another, which float32 throughout does without."""

    def by(self, kernel: Kernel, frozen: Frozen = TRAINED) -> bool:
        """Whether a recipe keeps it where some weights are frozen."""
        runs = self.runs is None or kernel in RUNS[self.runs]
        return runs and self.needed_for not in frozen


Done = Literal["nothing", "last", "all"]
"""Weights of a layer whose gradients are there: none, its last product's, or those of all."""


class Passing(NamedTuple):
    """One point of a layer's backward pass, beside all that the layer keeps."""

    tensors: tuple[Kept, ...]
    """Gradients that pass through, and what was let go before, with negative bytes."""
    done: Done = "last"


def kept(
    name: str,
    text: str,
    dims: dict[str, int],
    bytes: int = 2,
    *,
    per: Per = "token",
    runs: Runs | None = None,
    needed_for: NeededFor = "",
    feeds: tuple[str, ...] = (),
    residual: bool = False,
) -> Kept:
    """A saved tensor of `text` elements; bf16 unless `bytes` says otherwise."""
    elements = int(evaluate(text, dims))
    return Kept(
        name=name, text=text, dims=dims, elements=elements, bytes=bytes, per=per, runs=runs,
        needed_for="product" if feeds else needed_for, feeds=feeds, residual=residual,
    )  # fmt: skip


def let_go(tensors: Iterable[Kept]) -> tuple[Kept, ...]:
    """The same tensors taken off what is kept."""
    return tuple(replace(one, bytes=-one.bytes) for one in tensors)


def by_norm(
    name: str,
    width: str,
    dims: dict[str, int],
    kind: Norm,
    *,
    rows: str = "1",
    per: Per = "token",
    residual: bool = False,
    cut_from: str = "",
) -> tuple[Kept, ...]:
    """Inside a norm over `width` elements in `rows` rows.

    RMS works on a float32 copy, a fused one and torch's LayerNorm on their input, which keeps the
    whole tensor that it is `cut_from`.
    """
    if kind == "rms":
        found: tuple[Kept, ...] = (
            kept(f"{name} in float32", width, dims, 4, per=per, runs="plain"),
            kept(f"{name} input", cut_from or width, dims, per=per, runs="fused"),
            kept(f"{name} scale", rows, dims, 4, per=per),
            kept(
                f"{name} before its weight", width, dims, per=per, runs="plain", needed_for="table"
            ),
        )
    else:
        found = (
            kept(f"{name} input", width, dims, per=per),
            kept(f"{name} mean and deviation", f"2·({rows})", dims, 4, per=per),
        )
    return tuple(replace(one, residual=residual) for one in found)


def by_activation(
    width: str, dims: dict[str, int], activation: Activation, *, gated: bool, last: str = "down"
) -> tuple[Kept, ...]:
    """Between the projections of a feed-forward part, whose last keeps its input.

    A fused product with a gate keeps both factors and computes the activation again.
    """
    before = {"silu": 1, "gelu": 1, "relu": 0, "relu2": 1}[activation]
    plain = tuple(kept("activation input", width, dims, runs="plain") for _ in range(before))
    if not gated:
        found = (kept("activation input", width, dims),) * before
        return (
            *found,
            kept("activation output", width, dims, feeds=() if activation == "relu" else (last,)),
        )
    return (
        *plain,
        kept("gate projection", width, dims, runs="fused"),
        kept("activation output", width, dims, runs="plain"),
        kept("up projection", width, dims),
        kept("their product", width, dims, feeds=(last,)),
    )
