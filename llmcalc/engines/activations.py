"""How much scratch memory does inference need? The widest moment of one layer, and the logits."""

from __future__ import annotations

from llmcalc.blueprint.operations import GroupedMatmul, Ledger, Matmul, Section
from llmcalc.formula import formula

ELEMENT_BYTES = 2
"""Activations are computed in 16 bits whatever the weights are stored in."""


@formula(
    "tokens · (2 · d + widest) · bytes",
    source="residual stream, its normed copy and the outputs alive in the widest part of a layer",
    unit="bytes",
    basis="modelled",
)
def live_bytes(*, tokens: int, d: int, widest: int, bytes: int) -> int:
    """Bytes alive at the widest moment of a forward pass that keeps nothing for backward."""
    return tokens * (2 * d + widest) * bytes


@formula(
    "b · V · bytes",
    source="one row of logits a sequence, its last position",
    unit="bytes",
    basis="modelled",
)
def logits_bytes(*, b: int, V: int, bytes: int) -> int:  # noqa: N803  the field's symbol
    """Bytes of the logits of one step."""
    return b * V * bytes


def tokens_in_flight(batch: int, seq: int, chunk: int) -> int:
    """Tokens computed at once: a chunk of the prompts, or one of each sequence if that is more."""
    return max(min(batch * seq, chunk), batch)


def widest(ledger: Ledger) -> int:
    """Elements a token that the outputs of one part of one layer take, the most over all parts."""
    return max(
        (_widest_part(section) for section in ledger.sections if section.kind == "layer"), default=0
    )


def _widest_part(section: Section) -> int:
    """A part ends where its output goes back to the residual stream."""
    most = alive = 0
    for operation in section.operations:
        if isinstance(operation, (Matmul, GroupedMatmul)):
            alive += operation.width
            most = max(most, alive)
        if isinstance(operation, Matmul) and operation.to_residual:
            alive = 0
    return most


def head_width(ledger: Ledger) -> int:
    """Rows of the output head, 0 without one; all of them, since the logits are gathered."""
    return max(
        (
            operation.weight.units or operation.weight.shape[0]
            for section in ledger.sections
            for operation in section.operations
            if isinstance(operation, Matmul) and operation.weight.component == "lm_head"
        ),
        default=0,
    )
