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


LOSSES: dict[Losses, LossBytes] = {
    # 16-bit logits, their float32 copy, its log-softmax; then two float32 gradients on top of the
    # log-softmax and the logits (transformers loss_utils.py; torch saves the log-softmax alone).
    "eager": LossBytes(10, 14),
    # As eager, with a second float32 copy of all logits but each sequence's last, shifted against
    # the labels (transformers before 4.46, modeling_llama.py; torchtune before 0.3).
    "shifted": LossBytes(14, 18),
    # 16-bit logits, a copy shifted against the labels, its log-softmax; then the gradient.
    "plain": LossBytes(6, 8),
    # One chunk of tokens at a time, projected, upcast and let go (Liger fused_linear_cross_entropy,
    # TRL chunked loss): 14 bytes of one chunk.
    "chunked": LossBytes(10, 14, whole=False),
    # The gradient is written over the 16-bit logits (Liger cross_entropy.py: 4.00 bytes measured
    # on float32 logits, llmcalc/measurements/training_memory.tsv me0718; TransformerEngine too).
    "fused": LossBytes(2, 2),
    "linear": LossBytes(10, 14, whole=False),
}


@formula(
    "tokens · V · bytes", source="logits, their float32 copy, softmax and gradients", unit="bytes"
)
def logits_bytes(*, tokens: int, V: int, bytes: int) -> int:  # noqa: N803  the field's symbol
    """Bytes of everything that has one number a logit."""
    return tokens * V * bytes


def at_once(kind: Losses, *, tokens: int, vocabulary: int, width: int) -> int:
    """Tokens whose logits stand there together.

    Liger takes as many as make logits no larger than the hidden states of all tokens.
    """
    if LOSSES[kind].whole:
        return tokens
    return max(1, min(tokens, -(-tokens * width // vocabulary)))


def forward(kind: Losses, *, tokens: int, vocabulary: int, width: int) -> int:
    """Bytes when the forward pass ends."""
    there = at_once(kind, tokens=tokens, vocabulary=vocabulary, width=width)
    size: int = logits_bytes(tokens=there, V=vocabulary, bytes=LOSSES[kind].forward)
    return size


def backward(kind: Losses, *, tokens: int, vocabulary: int, width: int) -> int:
    """Bytes where the backward pass of the loss needs most."""
    there = at_once(kind, tokens=tokens, vocabulary=vocabulary, width=width)
    size: int = logits_bytes(tokens=there, V=vocabulary, bytes=LOSSES[kind].backward)
    return size
