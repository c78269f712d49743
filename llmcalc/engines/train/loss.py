"""What do the logits and their loss take? The part of a step that grows with the vocabulary."""

from __future__ import annotations

from typing import NamedTuple

from llmcalc.formula import formula
from llmcalc.spec.framework import Losses


class LossBytes(NamedTuple):
    """Bytes of a logit: when the forward pass ends, and where the backward pass needs most."""

    forward: int
    backward: int
    whole: bool = True
    """Whether all logits stand there at once, and not only those of a chunk of tokens."""
    heads: int = 0
    """16-bit gradients of the head in the backward pass, where the loss makes them itself."""


LOSSES: dict[Losses, LossBytes] = {
    # 16-bit logits, their float32 copy, its log-softmax; then two float32 gradients on top of the
    # log-softmax and the logits (transformers loss_utils.py; torch saves the log-softmax alone).
    "eager": LossBytes(10, 14),
    # As eager, with a second float32 copy of all logits but each sequence's last, shifted against
    # the labels (transformers before 4.46, modeling_llama.py; torchtune before 0.3).
    "shifted": LossBytes(14, 18),
    # 16-bit logits, a copy shifted against the labels, its log-softmax; then the gradient.
    "plain": LossBytes(6, 8),
    # One chunk of tokens at a time, projected, upcast and let go (TRL chunked loss).
    "chunked": LossBytes(10, 14, whole=False),
    # The gradient is written over the 16-bit logits (Liger cross_entropy.py: 4.00 bytes measured
    # on float32 logits, llmcalc/measurements/training_memory.tsv me0718; TransformerEngine too).
    "fused": LossBytes(2, 2),
    # The same in one kernel that makes the head's gradient in the forward pass: at the end that,
    # its scaled copy and the one it is added to (Liger fused_linear_cross_entropy.py).
    "linear": LossBytes(10, 14, whole=False, heads=3),
}


@formula(
    "tokens · V · bytes", source="logits, their float32 copy, softmax and gradients", unit="bytes"
)
def logits_bytes(*, tokens: int, V: int, bytes: int) -> int:  # noqa: N803  the field's symbol
    """Bytes of everything that has one number a logit."""
    return tokens * V * bytes


@formula(
    "V · d · 2 · copies", source="gradients of the head that the loss makes itself", unit="bytes"
)
def head_bytes(*, V: int, d: int, copies: int) -> int:  # noqa: N803  the field's symbol
    """Bytes of 16-bit gradients of the head."""
    return V * d * 2 * copies


class Head(NamedTuple):
    """What a loss works on: tokens, rows of the head on this rank, their width."""

    tokens: int
    vocabulary: int
    width: int
    trained: bool = True
    """Whether the head gets a gradient."""


def at_once(kind: Losses, head: Head) -> int:
    """Tokens whose logits stand there together.

    Liger takes as many as make logits no larger than the hidden states of all tokens.
    """
    if LOSSES[kind].whole:
        return head.tokens
    return max(1, min(head.tokens, -(-head.tokens * head.width // head.vocabulary)))


def forward(kind: Losses, head: Head) -> int:
    """Bytes when the forward pass ends."""
    return _bytes(kind, head, LOSSES[kind].forward, min(LOSSES[kind].heads, 1))


def backward(kind: Losses, head: Head) -> int:
    """Bytes where the backward pass of the loss needs most."""
    return _bytes(kind, head, LOSSES[kind].backward, LOSSES[kind].heads)


def _bytes(kind: Losses, head: Head, each: int, copies: int) -> int:
    size: int = logits_bytes(tokens=at_once(kind, head), V=head.vocabulary, bytes=each)
    if copies and head.trained:
        size += head_bytes(V=head.vocabulary, d=head.width, copies=copies)
    return size
