"""How a model's weights are stored: a policy of ordered rules over its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from llmcalc.spec.limits import Alias, Bool, Line, Name, Range
from llmcalc.spec.storage import Count, Rule, Scheme, WeightClass

__all__ = ("PolicyFile", "Quantization", "WeightClass")

Bits = Annotated[float, Range(1, 64)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFile:
    """A policy as its file says it; what it shares with others is in its scheme."""

    name: Name
    title: Line
    aliases: tuple[Alias, ...] = ()
    source: Line
    bits: Bits
    """Nominal, of most weights; to put policies in order, never to compute bytes."""
    scheme: Name
    default: Name
    """Format of the weights that no rule is for."""
    group: Count | None = None
    """Columns that share a scale, where its formats leave that open."""
    computed: Bits = 16
    """Bits of the operands that products are computed with; 16 where weights are widened first."""
    adapters: Line | None = None
    """The library that trains adapters beside weights stored so, with its source; None: none."""
    imatrix: Bool = False
    """Whether such files are made with an importance matrix."""
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quantization:
    """A policy with its scheme; equal only to itself, so that engines may keep what it means."""

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    source: str
    bits: float
    scheme: Scheme
    default: str
    group: int | None = None
    computed: float = 16
    adapters: str | None = None
    imatrix: bool = False
    rules: tuple[Rule, ...] = ()
    """All of them in order, those of the scheme last."""
