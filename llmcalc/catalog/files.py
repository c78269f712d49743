"""Bytes of a file or of stdin, bounded, with one clear error where there are none."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from llmcalc.errors import InvalidFileError, UnknownNameError, UsageError

LARGEST = 2**20
"""Bytes of a card or spec; the largest real one has a few thousand."""
LARGEST_CONFIG = 2**22
STDIN = "<stdin>"
PIECE = 2**15
"""Bytes asked for at first: Python sets aside what it is asked for, however small the file is."""


def content(path: str, largest: int = LARGEST) -> bytes:
    """The bytes of a file.

    Raises UnknownNameError where there is no file, InvalidFileError where it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            raw = file.read(PIECE)
            if len(raw) == PIECE:
                raw += file.read(largest + 1 - PIECE)
    except (FileNotFoundError, NotADirectoryError):
        raise UnknownNameError(f"no file at {path}", hint="check the path") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"{path}: the file cannot be read ({reason})"
        raise InvalidFileError(message, hint="is it a file, and may you read it?") from None
    return _bounded(raw, path, largest)


def stdin() -> bytes:
    """All of stdin. Raises InvalidFileError where it is too much."""
    return _bounded(sys.stdin.buffer.read(LARGEST + 1), STDIN, LARGEST)


def put(path: str, text: str, *, force: bool) -> None:
    """Write a file whole or not at all.

    Raises UsageError where it exists and `force` is not said, or where it cannot be written.
    """
    if os.path.lexists(path) and not force:
        raise UsageError(f"{path} exists already", hint="--force replaces it")
    draft = f"{path}.{os.getpid()}.part"
    try:
        with open(draft, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(draft, path)
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):
            os.remove(draft)
        reason = getattr(error, "strerror", None) or error
        hint = "is its folder there, and may you write to it?"
        raise UsageError(f"{path} cannot be written ({reason})", hint=hint) from None


def _bounded(raw: bytes, origin: str, largest: int) -> bytes:
    if len(raw) > largest:
        message = f"{origin}: the file has more than {largest} bytes"
        raise InvalidFileError(message, hint="a card, spec or config is a small text file")
    return raw


def is_path(name: str) -> bool:
    """Whether a name can only mean a file: by its start or by its suffix."""
    starts = ("/", "./", "../", "~", ".\\", "..\\")
    suffixes = (".yaml", ".yml", ".json", ".gguf", ".safetensors")
    lowered = name.lower()
    windows = os.sep == "\\" and ("\\" in name or name[1:2] == ":")
    return name in {".", ".."} or name.startswith(starts) or lowered.endswith(suffixes) or windows
