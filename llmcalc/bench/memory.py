"""What a model remembers at some context, in room of that size."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from llmcalc.bench.buffers import noise
from llmcalc.twin.attention import AttentionTwin
from llmcalc.twin.held import Held, Still
from llmcalc.twin.latent_attention import LatentAttentionTwin
from llmcalc.twin.model import ModelTwin
from llmcalc.twin.setting import Pass

_TOKEN_AXES = (1, 2, 1)
"""Of the latent, the turned key and the indexer's keys."""


def remembered(model: ModelTwin, batch: int, context: int, encoded: Tensor | None) -> Still:
    """The memory of a step that writes token `context`: random, and of its full size.

    A first token fills what has a fixed size: recurrent states, and the keys of an encoder.
    """
    device = model.ends.embed_tokens.weight.device
    first: dict[int, Any] = {}
    token = torch.zeros(batch, 1, dtype=torch.long, device=device)
    model(token, Pass(positions=token[0], memory=first, encoded=encoded))
    for module in model.layers.modules():
        if isinstance(module, AttentionTwin) and module.number in first and not module.part.cross:
            k, v = first[module.number]
            first[module.number] = _held(module, k, v, context)
        elif isinstance(module, LatentAttentionTwin):
            first[module.number] = tuple(
                _long(one, axis, context - 1)
                for one, axis in zip(first[module.number], _TOKEN_AXES, strict=False)
            )
    return Still(first)


def kv_bytes(model: ModelTwin, memory: Still) -> int:
    """Bytes of cache and state that a step reads; a layer that reads another's reads it again."""
    total, latest = 0, dict[tuple[int, int, int | None], int]()
    for module in model.layers.modules():
        number = getattr(module, "number", None)
        if isinstance(module, AttentionTwin):
            key = (module.h_kv, module.d_k, module.part.window)
            if module.part.kv_reuse:
                total += latest.get(key, 0)
                continue
            latest[key] = _bytes(memory.get(module.number))
        if number is not None:
            total += _bytes(memory.get(number))
    return total


def _held(module: AttentionTwin, k: Tensor, v: Tensor, context: int) -> Held:
    tokens = min(context, module.part.window or context)
    return Held(_long(k, 2, tokens), _long(v, 2, tokens))


def _long(one: Tensor, axis: int, tokens: int) -> Tensor:
    shape = list(one.shape)
    shape[axis] = tokens
    return noise(shape, one.dtype, one.device)


def _bytes(held: object) -> int:
    """Of everything that one mixer remembers."""
    if isinstance(held, Held):
        held = (held.k, held.v)
    if isinstance(held, Tensor):
        return held.numel() * held.element_size()
    return sum(map(_bytes, held)) if isinstance(held, tuple | list) else 0
