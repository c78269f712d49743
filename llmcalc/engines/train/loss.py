"""What do the logits and their loss take? The part of a step that grows with the vocabulary."""

from __future__ import annotations

from typing import NamedTuple

from llmcalc.formula import formula
from llmcalc.spec.framework import Losses


class LossBytes(NamedTuple):
    """Bytes of a logit: when the forward pass ends, and where the backward pass needs most."""

    forward: int
    backward: int
    result: int = 0
    """Of the logits as the model puts them out, which `backward` is without."""
    whole: bool = True
    """Whether all logits stand there at once, and not only those of a chunk of tokens."""
    heads: int = 0
    """16-bit gradients of the head in the backward pass, where the loss makes them itself."""


LOSSES: dict[Losses, LossBytes] = {
    # 16-bit logits, their float32 copy, its log-softmax; then the log-softmax, its gradient and
    # that of the copy (transformers loss_utils.py; torch saves the log-softmax alone).
    "eager": LossBytes(10, 12, result=2),
    # Float32 logits, a copy of all but each sequence's last, shifted against the labels, and its
    # log-softmax (transformers before 4.46, modeling_llama.py; torchtune before 0.3).
    "shifted": LossBytes(12, 12, result=4),
    # The same in 16 bits.
    "plain": LossBytes(6, 6, result=2),
    # One chunk of tokens at a time, projected, upcast and let go (TRL chunked loss).
    "chunked": LossBytes(10, 14, whole=False),
    # The gradient is written over the 16-bit logits (Liger cross_entropy.py: 4.00 bytes measured
    # on float32 logits, llmcalc/measurements/training_memory.tsv me0718; TransformerEngine too).
    "fused": LossBytes(2, 2),
    # The same in one kernel that makes the head's gradient in the forward pass: at the end that,
    # its scaled copy and the one it is added to (Liger fused_linear_cross_entropy.py).
    "linear": LossBytes(10, 14, whole=False, heads=3),
    # No logit is written at all; the head's gradient is made before it is added to another (Wijmans
    # et al., arXiv:2411.09009, section 4; llmcalc/measurements/training_memory.tsv me0736).
    "cut": LossBytes(0, 0, whole=False, heads=1),
}
FLOAT32: dict[Losses, LossBytes] = {
    "eager": LossBytes(8, 12, result=4),
    "shifted": LossBytes(12, 12, result=4),
    "plain": LossBytes(12, 12, result=4),
    "fused": LossBytes(4, 4),
}
"""Where the model puts out float32 logits, whose upcast is no copy."""


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
    computed: int = 2
    """Bytes of a logit as the model puts it out."""
    kept: bool = False
    """Whether the training loop holds the model's logits until the step is over."""


def loss_bytes(kind: Losses, head: Head) -> LossBytes:
    """Of the loss in the width that the model computes in."""
    wide = head.computed > LOSSES["fused"].forward
    return FLOAT32.get(kind, LOSSES[kind]) if wide else LOSSES[kind]


def at_once(kind: Losses, head: Head) -> int:
    """Tokens whose logits stand there together.

    Liger takes as many as make logits no larger than the hidden states of all tokens.
    """
    if LOSSES[kind].whole:
        return head.tokens
    return max(1, min(head.tokens, -(-head.tokens * head.width // head.vocabulary)))


def forward(kind: Losses, head: Head) -> int:
    """Bytes when the forward pass ends."""
    one = loss_bytes(kind, head)
    return _logits(kind, head, one.forward) + _heads(head, min(one.heads, 1))


def backward(kind: Losses, head: Head) -> int:
    """Bytes where the backward pass of the loss needs most."""
    one = loss_bytes(kind, head)
    return _logits(kind, head, one.backward) + kept(kind, head) + _heads(head, one.heads)


def gradient(kind: Losses, head: Head) -> int:
    """Bytes while the head is gone back through: the gradient of its logits, and what is kept."""
    if not LOSSES[kind].whole:
        return 0  # a chunk's is gone, and the head's gradient made with it
    return _logits(kind, head, head.computed) + kept(kind, head)


def kept(kind: Losses, head: Head) -> int:
    """Bytes of logits that the training loop holds until the step is over."""
    return _logits(kind, head, loss_bytes(kind, head).result) if head.kept else 0


def _logits(kind: Losses, head: Head, each: int) -> int:
    size: int = logits_bytes(tokens=at_once(kind, head), V=head.vocabulary, bytes=each)
    return size


def _heads(head: Head, copies: int) -> int:
    if not copies or not head.trained:
        return 0
    size: int = head_bytes(V=head.vocabulary, d=head.width, copies=copies)
    return size
