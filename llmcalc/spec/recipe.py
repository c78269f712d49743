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
    """Of Adam's two moments together; other optimizers have other states of the same width."""
    computed: Few = 2
    """Of a number that is computed with: weights as products see them, activations, gradients."""
    copies: Few = 0
    """Of copies in 16 bits that are computed with, while a step runs forward and backward."""
    inputs: Few = 2
    """Of each element of the inputs of products that are kept, where those are 16 bits wide."""
    stepping: Few = 0
    """Of what exists only while the optimizer steps."""

    @property
    def product_bits(self) -> int:
        """Bits of the numbers that products multiply."""
        return 8 * (1 if self.inputs == 1 else self.computed)

    @property
    def moment(self) -> int:
        """Bytes of one moment."""
        return self.optimizer // 2
