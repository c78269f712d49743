"""A training precision recipe: bytes that one trainable parameter occupies, part by part."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.spec.limits import Alias, Few, Line, Name


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Bytes a parameter for weights, gradients, master weights and Adam's two moments."""

    name: Name
    title: Line
    aliases: tuple[Alias, ...] = ()
    source: Line
    weights: Few
    gradients: Few
    master_weights: Few
    optimizer: Few
