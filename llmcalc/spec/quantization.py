"""How a number format stores weights: a policy over the classes of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from llmcalc.spec.limits import Alias, Line, Name, Range, WidthOrZero

Bits = Annotated[int, Range(1, 64)]
WeightClass = Literal["embedding", "linear", "expert", "head", "norm", "router", "bias", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantization:
    """One format; the classes it does not name stay at `kept_bits`."""

    name: Name
    title: Line
    aliases: tuple[Alias, ...] = ()
    source: Line
    bits: Bits
    """Of one weight of the quantised classes."""
    classes: tuple[WeightClass, ...]
    """Weights that are quantised."""
    kept_bits: Bits = 16
    scale_bits: WidthOrZero = 0
    """Of one scale, and of its zero point where there is one, together."""
    group: Literal["tensor", "channel"] | Annotated[int, Range(1, 65536)] | None = None
    """Weights that share a scale: a tensor, an output channel or so many in a row of it."""
