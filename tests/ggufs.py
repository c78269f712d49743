"""Sparse .gguf files of real models: the header that the gguf package writes, and holes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model in the sizes of its published config.json."""

    arch: str
    d: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ff: int
    vocab: int
    tied: bool = False
    experts: int = 0
    top_k: int = 0
    window: int = 0


MODELS = {
    "llama2-7b": Model(
        arch="llama", d=4096, layers=32, heads=32, kv_heads=32, head_dim=128, ff=11008, vocab=32000
    ),
    "mixtral-8x7b": Model(
        arch="llama", d=4096, layers=32, heads=32, kv_heads=8, head_dim=128, ff=14336, vocab=32000,
        experts=8, top_k=2,
    ),
    "qwen2.5-0.5b": Model(
        arch="qwen2", d=896, layers=24, heads=14, kv_heads=2, head_dim=64, ff=4864, vocab=151936,
        tied=True,
    ),
    "qwen3-8b": Model(
        arch="qwen3", d=4096, layers=36, heads=32, kv_heads=8, head_dim=128, ff=12288, vocab=151936
    ),
    "gemma2-9b": Model(
        arch="gemma2", d=3584, layers=42, heads=16, kv_heads=8, head_dim=256, ff=14336,
        vocab=256000, tied=True, window=4096,
    ),
    "gemma3-27b": Model(
        arch="gemma3", d=5376, layers=62, heads=32, kv_heads=16, head_dim=128, ff=21504,
        vocab=262208, tied=True, window=1024,
    ),
    "phi3-mini": Model(
        arch="phi3", d=3072, layers=32, heads=32, kv_heads=32, head_dim=96, ff=8192, vocab=32064,
        window=2047,
    ),
}  # fmt: skip


def tensors(m: Model) -> Iterator[tuple[str, Shape]]:
    """Names as `gguf.MODEL_TENSORS` lists them, shapes as torch has them."""
    yield "token_embd.weight", (m.vocab, m.d)
    yield "output_norm.weight", (m.d,)
    if not m.tied:
        yield "output.weight", (m.vocab, m.d)
    if m.arch == "phi3":
        yield "rope_factors_long.weight", (m.head_dim // 2,)
        yield "rope_factors_short.weight", (m.head_dim // 2,)
    for i in range(m.layers):
        for name, shape in layer(m).items():
            yield f"blk.{i}.{name}", shape


def layer(m: Model) -> dict[str, Shape]:
    """The tensors of one layer."""
    q, kv = m.heads * m.head_dim, m.kv_heads * m.head_dim
    found: dict[str, Shape] = {"attn_output.weight": (m.d, q)}
    norms = {"attn_norm": m.d, "ffn_norm": m.d}
    if m.arch == "phi3":
        found |= {"attn_qkv.weight": (q + 2 * kv, m.d), "ffn_up.weight": (2 * m.ff, m.d)}
        found["ffn_down.weight"] = (m.d, m.ff)
    else:
        rows = {"attn_q": q, "attn_k": kv, "attn_v": kv}
        found |= {f"{name}.weight": (size, m.d) for name, size in rows.items()}
        if m.arch == "qwen2":
            found |= {f"{name}.bias": (size,) for name, size in rows.items()}
        found |= feed_forward(m)
    if m.arch in ("qwen3", "gemma3"):
        norms |= {"attn_q_norm": m.head_dim, "attn_k_norm": m.head_dim}
    if m.arch.startswith("gemma"):
        norms |= {"post_attention_norm": m.d, "post_ffw_norm": m.d}
    return found | {f"{name}.weight": (size,) for name, size in norms.items()}


def feed_forward(m: Model) -> dict[str, Shape]:
    """A gated MLP, or experts and their router."""
    if m.experts:
        return {
            "ffn_gate_inp.weight": (m.experts, m.d),
            "ffn_gate_exps.weight": (m.experts, m.ff, m.d),
            "ffn_up_exps.weight": (m.experts, m.ff, m.d),
            "ffn_down_exps.weight": (m.experts, m.d, m.ff),
        }
    return {
        "ffn_gate.weight": (m.ff, m.d),
        "ffn_up.weight": (m.ff, m.d),
        "ffn_down.weight": (m.d, m.ff),
    }


def metadata(m: Model) -> dict[str, Any]:
    """What a converter writes of the architecture."""
    facts = {
        "block_count": m.layers, "context_length": 4096, "embedding_length": m.d,
        "feed_forward_length": m.ff, "attention.head_count": m.heads,
        "attention.head_count_kv": m.kv_heads, "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.dimension_count": m.head_dim, "rope.freq_base": 10000.0, "vocab_size": m.vocab,
    }  # fmt: skip
    if m.head_dim * m.heads != m.d:
        facts |= {"attention.key_length": m.head_dim, "attention.value_length": m.head_dim}
    if m.experts:
        facts |= {"expert_count": m.experts, "expert_used_count": m.top_k}
    if m.window:
        facts["attention.sliding_window"] = m.window
    return {f"{m.arch}.{key}": value for key, value in facts.items()}


def write(
    path: str,
    m: Model,
    *,
    kind: str = "F16",
    arch: str | None = None,
    more: Mapping[str, Any] | None = None,
    extra: Mapping[str, Shape] | None = None,
    without: str = "",
    tokens: list[str] | None = None,
) -> None:
    """A file of the full size whose data are a hole; `more` are keys beside or instead."""
    import gguf
    import numpy as np

    out = gguf.GGUFWriter(path, arch or m.arch)
    for key, value in (metadata(m) | dict(more or {})).items():
        _add(out, key, value)
    if tokens:
        out.add_token_list(tokens)
    total = 0
    for name, shape in [*tensors(m), *(extra or {}).items()]:
        if name != without:
            dtype = gguf.GGMLQuantizationType[kind if len(shape) > 1 else "F32"]
            block, size = gguf.GGML_QUANT_SIZES[dtype]
            length = prod(shape) // block * size
            plain = {"F32": np.float32, "F16": np.float16}.get(dtype.name)
            stored = shape if plain else (*shape[:-1], shape[-1] // block * size)
            out.add_tensor_info(
                name, list(stored), np.dtype(plain or np.uint8), length, raw_dtype=dtype
            )
            total += -(-length // 32) * 32
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_ti_data_to_file()
    out.close()
    os.truncate(path, -(-os.path.getsize(path) // 32) * 32 + total)


def _add(out: Any, key: str, value: Any) -> None:
    if isinstance(value, bool):
        out.add_bool(key, value)
    elif isinstance(value, str):
        out.add_string(key, value)
    elif isinstance(value, float):
        out.add_float32(key, value)
    elif value < 0:
        out.add_int32(key, value)
    else:
        out.add_uint32(key, value)
