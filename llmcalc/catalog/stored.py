"""What a checkpoint stores beside the parameters of its card: buffers, copies, scales."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from llmcalc.catalog.checkpoint import Checkpoint, StoredTensor
from llmcalc.spec.card import ModelCard, Published, Tensor

_LAYER = re.compile(r"\.\d+(?=\.)")
_BUFFER = re.compile(
    r"(^|\.)(position_ids|inv_freq|masked_bias|num_batches_tracked"
    r"|weight_scale(_inv)?|input_scale|output_scale|[kv]_scale|SCB)$"
)
"""Tensors that nobody learned: positions, rotary frequencies, scales of quantised weights."""
_MASK = re.compile(r"(^|\.)(attn|attention|self_attn)\.bias$")
"""A triangle of ones that some classes keep, of shape [1, 1, s, s]."""
_TABLE_COPIES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
"""Copies of `shared.weight` in encoder-decoder models, without what stands before."""
_TABLES = (
    "embed_tokens.weight", "wte.weight", "embed_in.weight", "word_embeddings.weight",
    "shared.weight",
)  # fmt: skip
"""Names of the token table that an output head may copy."""
_PACKED = ("U8", "I32")
"""Types that hold several quantised numbers in one."""
_LARGEST_AXIS = 2**27
_LONGEST = 80


def with_stored(card: ModelCard, checkpoint: Checkpoint) -> ModelCard:
    """The card with the count of `checkpoint` as published, and its buffers and copies listed.

    Left as it is, but for a note, where several quantised numbers share one stored number: the two
    counts then have nothing to do with each other.
    """
    numbers = checkpoint.numbers
    if not numbers:
        return card
    if any(map(packed, checkpoint.tensors)):
        note = f"the {numbers:,} numbers of the checkpoint are packed: no count of parameters"
        return replace(card, notes="; ".join(filter(None, (card.notes, note))))
    relation = "numbers in the checkpoint"
    source = f"headers of the {checkpoint.format} checkpoint"
    found = Published(params=numbers, relation=relation, source=source)
    return replace(card, published=found, stored=card.stored or _listed(card, checkpoint.tensors))


def packed(tensor: StoredTensor) -> bool:
    """Whether it holds quantised weights, several in one number."""
    return tensor.dtype in _PACKED and len(tensor.shape) > 1 and not _is_buffer(tensor)


def _listed(card: ModelCard, tensors: tuple[StoredTensor, ...]) -> tuple[Tensor, ...]:
    """Buffers and copies by name, those of all layers together with a leading axis."""
    names = {one.name for one in tensors}
    kinds = Counter(
        (_LAYER.sub("", one.name), one.shape)
        for one in tensors
        if one.numel and (_is_buffer(one) or _is_copy(card, one.name, names))
    )
    listed: dict[str, Tensor] = {}
    for (name, shape), times in kinds.items():
        word = _word(name, listed)
        if max((*shape, times)) <= _LARGEST_AXIS:
            listed[word] = Tensor(name=word, shape=(times, *shape) if times > 1 else shape)
    return tuple(listed.values())


def _is_buffer(tensor: StoredTensor) -> bool:
    square = len(tensor.shape) == 4 and tensor.shape[:2] == (1, 1)  # noqa: PLR2004
    return bool(_BUFFER.search(tensor.name)) or bool(square and _MASK.search(tensor.name))


def _is_copy(card: ModelCard, name: str, names: set[str]) -> bool:
    """Whether a tensor is the token table once more."""
    if name.endswith(_TABLE_COPIES):
        return any(one.endswith("shared.weight") for one in names)
    tables = (one for one in names if one != name and one.endswith(_TABLES))
    return card.embedding.tied and name.endswith("lm_head.weight") and any(tables)


def _word(name: str, taken: dict[str, Tensor]) -> str:
    """The name as a card may write it, and not yet taken."""
    clean = re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[-_LONGEST + 4 :]
    word = re.sub(r"^[^A-Za-z_]+", "", clean) or "tensor"
    more = 2
    while word in taken:
        word, more = f"{word.rsplit('--', 1)[0]}--{more}", more + 1
    return word
