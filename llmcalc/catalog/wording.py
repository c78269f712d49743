"""Keys, paths and values as a message shows them: on one line, printable and short."""

from __future__ import annotations

from typing import Any

Path = tuple[str | int, ...]
"""Keys and indices from the top of a file down to one value."""

_LONGEST = 60


def quoted(text: str) -> str:
    """Text from a file in quotes, cut where it is long."""
    shown = repr(text)
    return shown if len(shown) <= _LONGEST else f"{text[:40]!r}… ({len(text)} characters)"


def word(text: str) -> str:
    """A name from a file, in quotes only where it would not read as a name."""
    return text if 0 < len(text) <= _LONGEST and _is_name(text) else quoted(text)


def _is_name(text: str) -> bool:
    return text.isprintable() and not any(char in " '\"" for char in text)


def spelled(path: Path) -> str:
    """A path as people write it: `blocks.dense.parts[0].attn.num_heads`."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{word(key)}" if text else word(key)
    return text


def value_shown(value: Any) -> str:
    """A value as the file writes it."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    return quoted(value) if isinstance(value, str) else repr(value)
