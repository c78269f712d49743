"""The header of a .gguf file (versions 2 and 3): metadata and tensors, exactly.

The reader of the `gguf` package needs numpy, holds an object for every token of the vocabulary (4 s
for 128,000) and follows a false length without end; this one reads the header once, front to back,
within bounds.
Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from llmcalc.catalog.checkpoint import Checkpoint, StoredTensor, is_name, opened, overlapping
from llmcalc.catalog.ggml import TYPES
from llmcalc.catalog.wording import word
from llmcalc.errors import InvalidFileError

VERSIONS = (2, 3)
ELEMENTS = 2**23
"""Of all arrays together; vocabularies have up to a few 10^5 tokens and merges."""
KEPT = 4096
"""Elements of an array that is kept; longer ones are vocabularies, and are passed over."""
DEEPEST = 4
_MOST_KEYS, _MOST_TENSORS, _MOST_AXES = 2**16, 2**20, 4
_LONGEST_NAME, _LONGEST_TEXT = 2**16, 2**24
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_TEXT, _ARRAY = 8, 9
_HINT = "download it again: its header is damaged, or this is no .gguf file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gguf:
    """A header: what the file says of its model, and its tensors."""

    metadata: Mapping[str, Any]
    """Scalars, texts and short arrays by key; None for an array that is passed over."""
    checkpoint: Checkpoint


def read_gguf(path: str) -> Gguf:
    """The header of a file. Raises InvalidFileError, UnknownNameError where there is none."""
    with opened(path) as (file, size):
        return _Reader(file, size, path).header()


class _Reader:
    """The file from front to back; `left` bytes are ahead."""

    def __init__(self, file: BinaryIO, size: int, origin: str) -> None:
        self._file, self._size, self._origin = file, size, origin
        self.left = size
        self._elements = ELEMENTS

    def header(self) -> Gguf:
        """All of it, each length checked against what is left of the file."""
        if self._take(4, "a header") != b"GGUF":
            raise self._bad("the file does not begin with GGUF")
        version = self._number("I")
        if version not in VERSIONS:
            swapped = int.from_bytes(version.to_bytes(4, "little"), "big") in VERSIONS
            what = "big-endian files are not read" if swapped else "versions 2 and 3 are read"
            raise self._bad(f"GGUF version {version}: {what}")
        tensors, keys = self._number("Q"), self._number("Q")
        if keys > _MOST_KEYS or tensors > _MOST_TENSORS:
            raise self._bad(f"the file claims {keys} keys and {tensors} tensors")
        metadata = self._metadata(keys)
        return Gguf(metadata=metadata, checkpoint=self._checkpoint(tensors, metadata))

    def _metadata(self, count: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for _ in range(count):
            key = self._text(_LONGEST_NAME)
            if key in found:
                raise self._bad(f"the key {word(key)} stands here twice")
            found[key] = self._value(self._number("I"), key, 0)
        return found

    def _value(self, kind: int, key: str, depth: int) -> Any:
        if kind in _SCALARS:
            return self._number(_SCALARS[kind])
        if kind == _TEXT:
            return self._text(_LONGEST_TEXT)
        if kind == _ARRAY and depth < DEEPEST:
            return self._array(key, depth + 1)
        what = f"more than {DEEPEST} levels of arrays" if kind == _ARRAY else f"the type {kind}"
        raise self._bad(f"{word(key)} has {what}")

    def _array(self, key: str, depth: int) -> list[Any] | None:
        """Its values, or None where it is long; every element counts towards ELEMENTS."""
        kind, count = self._number("I"), self._number("Q")
        self._elements -= count
        if self._elements < 0 or count > self.left:
            raise self._bad(f"{word(key)} claims {count} elements")
        if kind in _SCALARS and count > KEPT:
            self._take(count * struct.calcsize(f"<{_SCALARS[kind]}"), word(key))
            return None
        values = [self._value(kind, key, depth) for _ in range(count)]
        return values if count <= KEPT else None

    def _checkpoint(self, count: int, metadata: Mapping[str, Any]) -> Checkpoint:
        align = metadata.get("general.alignment", 32)
        if type(align) is not int or not 0 < align <= 2**20 or align & (align - 1):
            raise self._bad(f"general.alignment is {align!r:.40}, no power of two")
        placed: dict[str, tuple[StoredTensor, int]] = {}
        for _ in range(count):
            tensor, offset = self._tensor()
            if tensor.name in placed:
                raise self._bad(f"the tensor {word(tensor.name)} stands here twice")
            placed[tensor.name] = tensor, offset
        head = self._size - self.left
        room = self._size - -(-head // align) * align
        for name, (tensor, offset) in placed.items():
            if offset + tensor.bytes > room:
                ends = offset + tensor.bytes
                raise self._bad(f"{word(name)} ends at byte {ends} of {room}: the file is cut off")
        spans = [(at, at + one.bytes, name) for name, (one, at) in placed.items()]
        shared = overlapping(spans)
        if shared is not None:
            raise self._bad(f"{word(shared)} overlaps another tensor")
        tensors = tuple(one for one, _ in placed.values())
        return Checkpoint(origin=self._origin, format="gguf", tensors=tensors)

    def _tensor(self) -> tuple[StoredTensor, int]:
        """One tensor and where its data begins; ggml writes the axis of one row first."""
        name = self._text(_LONGEST_NAME)
        if not is_name(name):
            raise self._bad(f"{word(name)} is no name of a tensor")
        axes = self._number("I")
        if axes > _MOST_AXES:
            raise self._bad(f"{word(name)} has {axes} axes")
        shape = tuple(self._number("Q") for _ in range(axes))[::-1]
        kind, offset = self._number("I"), self._number("Q")
        if kind not in TYPES:
            raise self._bad(f"{word(name)} has the type {kind}, which is unknown")
        dtype, block, size = TYPES[kind]
        if (shape[-1] if shape else 1) % block:
            raise self._bad(f"{word(name)} has rows of {shape[-1]}, no multiple of {block}")
        numel = StoredTensor(name=name, shape=shape, dtype=dtype, bytes=0).numel
        stored = StoredTensor(name=name, shape=shape, dtype=dtype, bytes=numel // block * size)
        return stored, offset

    def _number(self, code: str) -> Any:
        raw = self._take(struct.calcsize(f"<{code}"), "a number")
        return struct.unpack(f"<{code}", raw)[0]

    def _text(self, longest: int) -> str:
        length = self._number("Q")
        if length > longest:
            raise self._bad(f"a text of {length} bytes stands here, at most {longest} are read")
        try:
            return self._take(length, "a text").decode("utf-8")
        except UnicodeDecodeError:
            raise self._bad("a name or text is no UTF-8") from None

    def _take(self, count: int, what: str) -> bytes:
        if count > self.left:
            raise self._bad(f"the file of {self._size} bytes ends inside {what}")
        self.left -= count
        raw = self._file.read(count)
        if len(raw) != count:
            raise self._bad(f"the file became shorter while {what} was read")
        return raw

    def _bad(self, message: str) -> InvalidFileError:
        return InvalidFileError(f"{self._origin}: {message}", hint=_HINT)
