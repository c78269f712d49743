"""How much scratch memory does inference need? The widest moment of one layer, and the logits."""

from __future__ import annotations

from llmcalc.blueprint.operations import GroupedMatmul, Ledger, Matmul, Scan, Section
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


def widest(ledger: Ledger, *, with_input: bool = False, scan_copies: int = 0) -> int:
    """Elements a token that the outputs of one part of one layer take, the most over all parts.

    `with_input` counts what the last product of a part reads too, where an engine holds it apart
    from the outputs before it, as it does with the activated product of gate and up; `scan_copies`
    is how often a recurrence holds as much while its kernels work.
    """
    return max(
        (
            widest_part(section, with_input=with_input, scan_copies=scan_copies)
            for section in ledger.sections
            if section.kind == "layer"
        ),
        default=0,
    )


def widest_part(section: Section, *, with_input: bool = False, scan_copies: int = 0) -> int:
    """A part ends where its output goes back to the residual stream."""
    most = alive = copies = 0
    for operation in section.operations:
        if isinstance(operation, Scan):
            copies = scan_copies
        elif isinstance(operation, (Matmul, GroupedMatmul)):
            alive += operation.width
            read = (1 + copies) * _read_by_last(operation, section) if with_input else 0
            most = max(most, alive + read)
        if isinstance(operation, Matmul) and operation.to_residual:
            alive = copies = 0
    return most


def _read_by_last(operation: Matmul | GroupedMatmul, section: Section) -> int:
    """Elements a token that the product reads, where it leads back to the residual stream."""
    rows, read = operation.weight.shape[-2:]
    if isinstance(operation, Matmul):
        return read if operation.to_residual else 0
    return operation.top_k * read if rows == section.width else 0


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
