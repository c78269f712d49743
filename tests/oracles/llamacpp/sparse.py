"""A sparse GGUF file of a card: the header that the gguf package writes, and holes for the data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import prod
from typing import Any

from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention
from tests.oracles.llamacpp.metadata import metadata
from tests.oracles.llamacpp.shapes import heads, layer, layers, norm

Shape = tuple[int, ...]
ALIGNMENT = 32


def tensors(card: ModelCard, arch: str) -> Iterator[tuple[str, Shape]]:
    """Names as `gguf.MODEL_TENSORS` lists them, shapes as torch has them."""
    yield "token_embd.weight", (card.vocab_size, card.hidden_size)
    if card.embedding.positions:
        # RoBERTa's first two rows are for padding; the converter leaves them out
        rows = min(card.embedding.positions, card.max_position_embeddings or 1 << 30)
        yield "position_embd.weight", (rows, card.hidden_size)
    if card.embedding.types:
        yield "token_types.weight", (card.embedding.types, card.hidden_size)
    if card.embedding.norm:
        yield from norm(card, "token_embd_norm", card.hidden_size).items()
    if card.final_norm:
        yield from norm(card, "output_norm", card.hidden_size).items()
    if card.head and not card.embedding.tied:
        yield "output.weight", (card.vocab_size, card.hidden_size)
    if card.head_bias:
        yield "output.bias", (card.vocab_size,)
    if arch == "gemma4":
        yield "rope_freqs.weight", (_widest_head(card) // 2,)
    for number, block in enumerate(layers(card, arch)):
        for tensor, shape in layer(card, arch, block).items():
            yield f"blk.{number}.{tensor}", shape


def _widest_head(card: ModelCard) -> int:
    parts = [part for block in card.blocks.values() for part in block.parts]
    return max(heads(part, card.hidden_size)[2] for part in parts if isinstance(part, Attention))


def write(path: str, card: ModelCard, arch: str, kind: str) -> None:
    """A file of the full size, matrices stored as `kind` where their rows allow, the rest F32."""
    import gguf

    out = gguf.GGUFWriter(path, arch)
    for key, value in metadata(card, arch).items():
        _add(out, key if key.startswith("tokenizer.") else f"{arch}.{key}", value)
    out.add_tokenizer_model("no_vocab")
    total = sum(_tensor(out, name, shape, kind) for name, shape in tensors(card, arch))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_ti_data_to_file()
    out.close()
    os.truncate(path, -(-os.path.getsize(path) // ALIGNMENT) * ALIGNMENT + total)


def _tensor(out: Any, name: str, shape: Shape, kind: str) -> int:
    import gguf
    import numpy as np

    small = len(shape) == 1 or name.endswith(".bias")
    small = small or any(f".{one}" in f".{name}" for one in ("ssm_a", "ssm_d", "ssm_conv1d"))
    small = small or "_norm." in name or "ffn_gate_inp" in name
    dtype = gguf.GGMLQuantizationType["F32" if small else kind]
    block, size = gguf.GGML_QUANT_SIZES[dtype]
    if shape[-1] % block:
        dtype = gguf.GGMLQuantizationType["F16"]
        block, size = gguf.GGML_QUANT_SIZES[dtype]
    length = prod(shape) // block * size
    plain = {"F32": np.float32, "F16": np.float16}.get(dtype.name)
    stored = shape if plain else (*shape[:-1], shape[-1] // block * size)
    out.add_tensor_info(name, list(stored), np.dtype(plain or np.uint8), length, raw_dtype=dtype)
    return -(-length // ALIGNMENT) * ALIGNMENT


def _add(out: Any, key: str, value: Any) -> None:
    if isinstance(value, list):
        out.add_array(key, value)
    elif isinstance(value, bool):
        out.add_bool(key, value)
    elif isinstance(value, float):
        out.add_float32(key, value)
    else:
        out.add_uint32(key, value)
