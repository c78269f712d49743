"""What a checkpoint stores, as its header tells: tensors by name, shape, type and bytes."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import BinaryIO, Literal

from llmcalc.errors import InvalidFileError, UnknownNameError

LONGEST_NAME = 1000
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTensor:
    """One tensor of a file."""

    name: str
    shape: tuple[int, ...]
    """As torch has it, the axis of one row last."""
    dtype: str
    """As the file names it: BF16, F8_E4M3, Q4_K."""
    bytes: int

    @property
    def numel(self) -> int:
        """Numbers that it holds; one for a scalar."""
        return prod(self.shape)

    @property
    def group(self) -> str:
        """Its name with `*` for numbers, which all layers share."""
        return _NUMBER.sub("*", self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """All tensors of one checkpoint, shards together."""

    origin: str
    format: Literal["safetensors", "gguf"]
    tensors: tuple[StoredTensor, ...]

    @property
    def numbers(self) -> int:
        """Numbers stored in all."""
        return sum(one.numel for one in self.tensors)


@contextmanager
def opened(path: str) -> Iterator[tuple[BinaryIO, int]]:
    """The file and its size in bytes.

    Raises UnknownNameError where there is none, InvalidFileError where it cannot be read. A pipe or
    device is refused before it is opened, since reading it might never end.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            hint = "give a file, or the folder that holds config.json and model.safetensors"
            raise InvalidFileError(f"{path}: this is no plain file", hint=hint)
        with open(path, "rb") as file:
            yield file, os.fstat(file.fileno()).st_size
    except (FileNotFoundError, NotADirectoryError):
        raise UnknownNameError(f"no file at {path}", hint="check the path") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"{path}: the file cannot be read ({reason})"
        raise InvalidFileError(message, hint="is it a file, and may you read it?") from None


def is_name(name: str) -> bool:
    """Whether a tensor can be called so: printable, and no longer than any framework writes."""
    return 0 < len(name) <= LONGEST_NAME and name.isprintable()


def overlapping(spans: list[tuple[int, int, str]]) -> str | None:
    """The name of the first tensor whose bytes (begin, end, name) are another's too, or None."""
    last = 0
    for begin, end, name in sorted(spans):
        if begin < last and end > begin:
            return name
        last = max(last, end)
    return None
