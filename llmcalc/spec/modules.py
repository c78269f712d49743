"""How the classes of one kind name their linear layers, and which products each computes."""

from __future__ import annotations

from dataclasses import dataclass, field

from llmcalc.spec.limits import Alias, Line, Name, Word


@dataclass(frozen=True, slots=True, kw_only=True)
class Modules:
    """Names of linear layers, as people type them to say where adapters stand.

    What a name means is a list: one entry for each layer of that name. `q+k+v` is one layer that
    computes three products, `in_ba/2` one of two that share a product, `gate+up*2` one whose
    adapters have twice the rank.
    """

    name: Name
    """A model_type of transformers, or what else names layers so."""
    title: Line
    aliases: tuple[Alias, ...] = ()
    """Other model types whose classes do."""
    source: Line
    linear: dict[Word, tuple[Line, ...]]
    """Linear layers, without what stands before and after the language model."""
    parameters: dict[Word, tuple[Line, ...]] = field(default_factory=dict)
    """Experts, which are bare parameters: adapters stand there only where they are asked for."""
    taken_for: dict[Word, tuple[Line, ...]] = field(default_factory=dict)
    """What PEFT takes names for that layers of an older class had."""
