"""From what logs call a number format to the formats that we know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from llmcalc.catalog.data import quantization
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.engines.kv_format import KV_FORMATS
from llmcalc.errors import UsageError

_FORKED = re.compile(r"iq\d_k[a-z]*|.*_r[48]|exl[23].*")
"""Formats of ik_llama.cpp and ExLlama, whose tensors follow rules of their own."""

_ALIKE: tuple[tuple[str, str], ...] = (
    (r"float16|half|f16", "fp16"),
    (r"bfloat16", "bf16"),
    (r"float32|f32", "fp32"),
    (r"awq.*|.*-awq", "awq"),
    (r"gptq.*|.*-gptq", "gptq"),
    (r"w4a16.*|w4", "w4a16"),
    (r"w8a16.*", "w8a16"),
    (r"w8a8.*int8|int8-w8a8|w8a8", "w8a8"),
    (r"fp8-dynamic.*", "fp8-channel"),
    (r"w8a8.*fp8|fp8.*|float8.*", "fp8"),
    (r"(bnb|bitsandbytes)-?(4bit|nf4)|4bit-(bnb|bitsandbytes)|nf4.*", "nf4"),
    (r"(bnb|bitsandbytes)-?(8bit|int8)|8bit-(bnb|bitsandbytes)", "bnb-8bit"),
    (r"nvfp4.*", "nvfp4"),
    (r"mxfp4.*", "mxfp4"),
    (r"int4.*", "int4"),
    (r"int8.*", "int8"),
)
"""Patterns over what is written, and the name it then goes by."""

_ALL = r"[ ._-]*(?:{})(?:[ ._-]|$)"
_IN_NAMES = tuple(
    (re.compile(_ALL.format(words), re.IGNORECASE), name)
    for words, name in (
        ("awq", "awq"),
        ("gptq", "gptq"),
        ("nvfp4", "nvfp4"),
        ("mxfp4", "mxfp4"),
        (r"fp8", "fp8"),
        (r"w8a8", "w8a8"),
        (r"w4a16", "w4a16"),
        (r"int8", "int8"),
        (r"int4", "int4"),
        (r"bnb-4bit", "nf4"),
    )
)
"""Words of a model's name that tell its format."""


def weight_format(text: str | None, model: str = "") -> str:
    """The name of the weight format that a text means, or else the model's own name tells.

    Raises Unusable where neither tells, or where it is a format that we do not have.
    """
    if not text:
        text = next((name for words, name in _IN_NAMES if words.search(model)), "")
    if not text:
        raise Unusable("the weight format is not stated")
    return _known(text)


@cache
def file_type(text: str | None) -> str:
    """The GGUF file type that a text means. Raises Unusable for one that we do not have."""
    if not text:
        raise Unusable("the file type is not stated")
    names = tuple(_spellings(text))
    # llama.cpp's own form of a format that other engines have too: gguf-bf16, mxfp4_moe.
    own = (form for name in names for form in (f"gguf-{name}", f"{name}_moe"))
    if found := _first((*own, *names)):
        return found
    raise Unusable(f"file type {text!r} is not one of ours")


@cache
def _known(text: str) -> str:
    if found := _first(_spellings(text)):
        return found
    raise Unusable(f"weight format {text!r} is not one of ours")


def _first(names: Iterable[str]) -> str | None:
    for name in names:
        try:
            return quantization(name).name
        except UsageError:
            continue
    return None


def _spellings(text: str) -> Iterator[str]:
    """As written, without remarks, and as the format it goes by."""
    plain = re.sub(r"\s*\([^)]*\)", "", text.strip().lower()).removeprefix("mostly ")
    plain = re.sub(r"\s*-\s*[\d.]+ bpw$|\bcompressed[- ]tensors\b|\bmarlin\b", "", plain).strip(
        " -"
    )
    sized = re.fullmatch(r"(i?q\d_\w+) - (small|medium|large)", plain)
    if sized:
        yield from (f"{sized[1]}_{sized[2][0]}", sized[1])
        return
    if _FORKED.fullmatch(plain):
        raise Unusable(f"weight format {text!r} is of ik_llama.cpp or ExLlama")
    dashed = re.sub(r"[\s_]+", "-", plain)
    yield from (text, plain, dashed, dashed.replace("-", "_"))
    yield re.sub(r"[^a-z0-9.]+", "-", text.strip().lower())
    for pattern, name in _ALIKE:
        if re.fullmatch(pattern, dashed):
            yield name


_KV = re.compile(r"k \((\w+)\), v \((\w+)\)")
_LATENT = re.compile(r"c\^kv \((\w+)\)")
_KV_ALIKE = {
    "auto": "bf16", "bfloat16": "bf16", "float16": "fp16", "f16": "fp16", "half": "fp16",
    "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "fp8_inc": "fp8", "float32": "fp32", "f32": "fp32",
}  # fmt: skip


def kv_formats(text: str | None, default: str = "bf16") -> tuple[str, str]:
    """The formats of keys and values that a text means; `default` where it says nothing.

    Raises Unusable for a format that we do not have.
    """
    plain = (text or default).strip().lower()
    if pair := _KV.match(plain):
        return _cache_format(pair[1]), _cache_format(pair[2])
    if latent := _LATENT.match(plain):
        plain = latent[1]
    one = _cache_format(plain.split()[0])
    return one, one


def _cache_format(word: str) -> str:
    for name in (word, _KV_ALIKE.get(word, ""), word.replace("_", "-"), word.replace("-", "_")):
        if name in KV_FORMATS:
            return name
    raise Unusable(f"cache format {word!r} is not one of ours")
