"""What all mixers of fixed memory are built of: projections, a short convolution, a state."""

from __future__ import annotations

from llmcalc.blueprint.operations import Convolution, Elementwise, Matmul, Scan, State
from llmcalc.blueprint.weight import weight
from llmcalc.formula import evaluate


def project_in(
    name: str, text: str, dims: dict[str, int], units: int | None, *, bias: bool = False
) -> Matmul:
    """A projection of the hidden state to rows of `text`."""
    return Matmul(
        name=name,
        weight=weight(f"{name}_proj", f"{text}, d", dims, "ssm", units=units),
        bias=weight(f"{name}_proj.bias", text, dims, "ssm", "bias", units=units) if bias else None,
    )


def project_out(text: str, dims: dict[str, int], units: int, *, bias: bool = False) -> Matmul:
    """The projection back to the residual stream."""
    return Matmul(
        name="out",
        weight=weight("out_proj", f"d, {text}", dims, "ssm", units=units, axis=1),
        bias=weight("out_proj.bias", "d", dims, "ssm", "bias") if bias else None,
        to_residual=True,
    )


def convolution(
    text: str, dims: dict[str, int], units: int, *, bias: bool
) -> tuple[Convolution, State]:
    """A causal convolution over `text` channels, and the inputs it must remember."""
    channels = int(evaluate(text, dims))
    kernel = weight("conv", f"{text}, k", dims, "ssm", "other", units=units)
    return (
        Convolution(
            name="conv",
            weight=kernel,
            bias=weight("conv.bias", text, dims, "ssm", "bias", units=units) if bias else None,
        ),
        State(
            name="conv_state", text=f"({text})·(k - 1)", dims=dims,
            elements=channels * (dims["k"] - 1), units=units,
        ),
    )  # fmt: skip


def scan(
    recurrence: str,
    text: str,
    state: str,
    dims: dict[str, int],
    units: int,
    *,
    wide: bool = False,
) -> tuple[Scan, State]:
    """A recurrence of `text` multiply-adds a token over a state of `state` elements."""
    return (
        Scan(name="scan", text=text, dims=dims, macs=int(evaluate(text, dims)), units=units),
        State(
            name="state", text=state, dims=dims, elements=int(evaluate(state, dims)), units=units,
            recurrence=recurrence, wide=wide,
        ),
    )  # fmt: skip


def vectors(dims: dict[str, int], units: int | None, **shapes: str) -> tuple[Elementwise, ...]:
    """Small learned vectors by name and shape (decays, skips, biases of the step size)."""
    return tuple(
        Elementwise(name=name, weights=(weight(name, text, dims, "ssm", "other", units=units),))
        for name, text in shapes.items()
    )
