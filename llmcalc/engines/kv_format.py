"""How caches store keys and values: plain elements, or blocks along a head that share a scale."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KvFormat:
    """`block` elements of one head are stored in `bytes` bytes, their scales included."""

    name: str
    block: int
    bytes: int
    source: str = "plain elements; scales a layer, where a format has them, are not counted"

    @property
    def bits(self) -> float:
        """Of one element, its share of the scales included."""
        return 8 * self.bytes / self.block


_GGML = "ggml block formats: https://github.com/ggml-org/llama.cpp, ggml/src/ggml-common.h"

KV_FORMATS = {
    one.name: one
    for one in (
        KvFormat(name="fp32", block=1, bytes=4),
        KvFormat(name="bf16", block=1, bytes=2),
        KvFormat(name="fp16", block=1, bytes=2),
        KvFormat(name="fp8", block=1, bytes=1),
        KvFormat(name="int8", block=1, bytes=1),
        KvFormat(name="int4", block=2, bytes=1),
        KvFormat(name="q8_0", block=32, bytes=34, source=_GGML),
        KvFormat(name="q5_1", block=32, bytes=24, source=_GGML),
        KvFormat(name="q5_0", block=32, bytes=22, source=_GGML),
        KvFormat(name="q4_1", block=32, bytes=20, source=_GGML),
        KvFormat(name="q4_0", block=32, bytes=18, source=_GGML),
        KvFormat(name="iq4_nl", block=32, bytes=18, source=_GGML),
    )
}
"""By the name that people type."""

ALIASES = {"f16": "fp16", "f32": "fp32", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "auto": "bf16"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KvFormats:
    """What keys and values are stored in; engines may store them apart."""

    keys: KvFormat
    values: KvFormat

    @property
    def name(self) -> str:
        """`q8_0`, or `q8_0 keys, q4_0 values`."""
        if self.keys == self.values:
            return self.keys.name
        return f"{self.keys.name} keys, {self.values.name} values"

    def bytes(self, keys: int, values: int) -> int:
        """Bytes of so many elements of keys and of values; a started byte counts whole."""
        block = self.keys.block * self.values.block
        parts = keys * self.keys.bytes * self.values.block
        parts += values * self.values.bytes * self.keys.block
        return -(-parts // block)


BF16 = KvFormats(keys=KV_FORMATS["bf16"], values=KV_FORMATS["bf16"])
