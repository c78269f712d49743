"""What a part needs to know of the model around it."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.blueprint.operations import Elementwise
from llmcalc.blueprint.weight import weight
from llmcalc.spec.card import Norm


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The model's width and norm; `absorbed` lowers latent attention as decoding engines run it."""

    hidden_size: int
    norm: Norm
    absorbed: bool = False
    causal: bool = True
    training: bool = False
    """Whether sections say what they keep for a backward pass."""
    encoder_length: int | None = None
    """Tokens that cross-attention always sees; None: as many as the sequence has."""


def norm(name: str, text: str, dims: dict[str, int], kind: Norm) -> Elementwise:
    """A norm over `text` elements: RMS has a scale, LayerNorm a shift too, `none` no weight."""
    if kind == "none":
        return Elementwise(name=name)
    scale = weight(f"{name}.weight", text, dims, "norm", "norm")
    if kind != "layer":
        return Elementwise(name=name, weights=(scale,))
    return Elementwise(
        name=name, weights=(scale, weight(f"{name}.bias", text, dims, "norm", "norm"))
    )
