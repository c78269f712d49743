"""The header of a .safetensors file, or of all shards of an index: what is stored, exactly.

A file begins with the length of its header (8 bytes, little-endian) and the header, one JSON
object: name to dtype, shape and data_offsets. Nothing behind it is read.
Source: https://huggingface.co/docs/safetensors, section Format.
"""

from __future__ import annotations

import os
import re
from typing import Any

from llmcalc.catalog import jsonfile
from llmcalc.catalog.checkpoint import Checkpoint, StoredTensor, is_name, opened, overlapping
from llmcalc.catalog.wording import word
from llmcalc.errors import InvalidFileError

LONGEST_HEADER = 100_000_000
"""Bytes, as the format itself allows."""
BITS = {
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32,
    "I64": 64, "U64": 64, "F64": 64, "C64": 64,
}  # fmt: skip
INDEX = ".safetensors.index.json"
_MOST = 2**63
_MOST_AXES = 64
_SHARD = re.compile(r"[^/\\:\x00-\x1f]+\.safetensors")
_HINT = "download it again: its header is damaged, or this is no .safetensors file"


def read_safetensors(path: str) -> Checkpoint:
    """The tensors of one file. Raises InvalidFileError, UnknownNameError where there is none."""
    return Checkpoint(origin=path, format="safetensors", tensors=_file(path))


def read_index(path: str) -> Checkpoint:
    """The tensors of all shards that a `….safetensors.index.json` names, which lie beside it.

    Raises InvalidFileError, also where a tensor is not in the shard that the index says.
    """
    hint = "give the model.safetensors.index.json of the model, unchanged, beside its shards"
    with opened(path) as (file, _):
        raw = file.read(LONGEST_HEADER + 1)
    names = jsonfile.mapping(raw, path, hint=hint, largest=LONGEST_HEADER).get("weight_map")
    if not isinstance(names, dict) or not names:
        raise InvalidFileError(f"{path}: weight_map is missing or no mapping", hint=hint)
    found: dict[str, StoredTensor] = {}
    for shard in dict.fromkeys(_shard(one, path) for one in names.values()):
        tensors = {one.name: one for one in _beside(path, shard)}
        for name in tensors.keys() & found.keys():
            message = f"{path}: {word(name)} is in {shard} and in another shard"
            raise InvalidFileError(message, hint=hint)
        lacking = [name for name, where in names.items() if where == shard and name not in tensors]
        if lacking:
            message = f"{path}: {shard} holds no tensor {word(lacking[0])}"
            raise InvalidFileError(message, hint="download index and shards of one revision")
        found |= tensors
    return Checkpoint(origin=path, format="safetensors", tensors=tuple(found.values()))


def _shard(name: Any, path: str) -> str:
    """A file name that stays in the folder of the index, and is no index itself."""
    if isinstance(name, str) and len(name) <= 255 and _SHARD.fullmatch(name):  # noqa: PLR2004
        return name
    shown = word(name) if isinstance(name, str) else f"{name!r:.40}"
    hint = "a shard is a .safetensors file beside the index, as model-00001-of-00002.safetensors"
    raise InvalidFileError(f"{path}: {shown} is no name of a shard", hint=hint)


def _beside(path: str, shard: str) -> tuple[StoredTensor, ...]:
    file = os.path.join(os.path.dirname(path), shard)
    if not os.path.exists(file):
        message = f"{path}: the shard {word(shard)} is not beside it"
        hint = "download all shards, or give config.json, which needs none"
        raise InvalidFileError(message, hint=hint)
    return _file(file)


def _file(path: str) -> tuple[StoredTensor, ...]:
    with opened(path) as (file, size):
        start = file.read(8)
        if start == b"version ":
            hint = "this is a pointer of git-lfs: git lfs pull fetches the file"
            raise InvalidFileError(f"{path}: this is no .safetensors file", hint=hint)
        if len(start) < 8:  # noqa: PLR2004
            raise _bad(path, f"the file has {size} bytes and no header")
        length = int.from_bytes(start, "little")
        if length > LONGEST_HEADER:
            most = f"at most {LONGEST_HEADER} are read"
            raise _bad(path, f"the header would be {length} bytes, {most}")
        if length > size - 8:
            raise _bad(path, f"the header would be {length} bytes, and the file has {size}")
        raw = file.read(length)
    return header(raw, size - 8 - length, path)


def header(raw: bytes, size: int, origin: str) -> tuple[StoredTensor, ...]:
    """The tensors that a header tells, whose data are the `size` bytes behind it."""
    told = jsonfile.mapping(raw, origin, hint=_HINT, largest=LONGEST_HEADER)
    told.pop("__metadata__", None)
    spans: list[tuple[int, int, str]] = []
    tensors = []
    for name, one in told.items():
        if not isinstance(one, dict):
            raise _bad(origin, f"{word(name)} is no mapping of dtype, shape and data_offsets")
        offsets = one.get("data_offsets")
        tensor = described(name, one.get("dtype"), one.get("shape"), offsets, origin)
        begin, end = offsets or (0, 0)
        if end > size:
            raise _bad(origin, f"{word(name)} ends at byte {end} of {size}: the file is cut off")
        spans.append((begin, end, name))
        tensors.append(tensor)
    shared = overlapping(spans)
    if shared is not None:
        raise _bad(origin, f"{word(shared)} overlaps another tensor")
    return tuple(tensors)


def described(name: str, dtype: Any, shape: Any, offsets: Any, origin: str) -> StoredTensor:
    """The tensor of one entry; raises InvalidFileError where dtype, shape and offsets disagree."""
    if not is_name(name):
        raise _bad(origin, f"{word(name)} is no name of a tensor")
    if not isinstance(dtype, str) or dtype not in BITS:
        raise _bad(origin, f"{word(name)} has the dtype {dtype!r:.40}, which is unknown")
    if not _counts(shape) or len(shape) > _MOST_AXES:
        raise _bad(origin, f"{word(name)} has the shape {shape!r:.40}")
    if not _counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:  # noqa: PLR2004
        raise _bad(origin, f"{word(name)} has the data_offsets {offsets!r:.40}")
    tensor = StoredTensor(name=name, shape=tuple(shape), dtype=dtype, bytes=offsets[1] - offsets[0])
    bits = tensor.numel * BITS[dtype]
    if bits != tensor.bytes * 8:
        message = f"{word(name)} is {tensor.bytes} bytes, and its shape means {-(-bits // 8)}"
        raise _bad(origin, message)
    return tensor


def _counts(value: Any) -> bool:
    """Whether it is a list of whole numbers that no file exceeds."""
    return isinstance(value, list | tuple) and all(
        type(one) is int and 0 <= one < _MOST for one in value
    )


def _bad(origin: str, message: str) -> InvalidFileError:
    return InvalidFileError(f"{origin}: {message}", hint=_HINT)
