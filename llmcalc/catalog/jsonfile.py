"""Bytes or text to one JSON object, refusing what no file of ours or Hugging Face's holds."""

from __future__ import annotations

import json
from typing import Any

from llmcalc.errors import InvalidFileError

DEEPEST = 32


def mapping(raw: bytes | str, origin: str, *, hint: str, largest: int) -> dict[str, Any]:
    """The mapping that `raw` holds, bytes being UTF-8; `origin` names the file in errors.

    `Infinity` passes, since real configs of state-space models write it where no count reads it;
    NaN, a key that stands twice, anything but one JSON object and absurd sizes raise
    InvalidFileError.
    """

    def bad(place: str, message: str) -> InvalidFileError:
        return InvalidFileError(f"{place}: {message}", hint=hint)

    if len(raw) > largest:
        raise bad(origin, f"the file has {len(raw)} characters, at most {largest} are read")
    try:
        text = raw if isinstance(raw, str) else raw.decode("utf-8")
        data = json.loads(
            text.removeprefix("\ufeff"), object_pairs_hook=_unique, parse_constant=_constant
        )
    except UnicodeDecodeError:
        raise bad(origin, "this is no JSON: the file is no UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise bad(f"{origin}:{error.lineno}", f"this is no JSON: {error.msg}") from None
    except ValueError as error:
        raise bad(origin, str(error).split(";")[0]) from None
    except RecursionError:
        raise bad(origin, f"more than {DEEPEST} levels of nesting") from None
    if not isinstance(data, dict):
        raise bad(origin, "the file is no mapping of keys to values")
    if _deeper(data, DEEPEST):
        raise bad(origin, f"more than {DEEPEST} levels of nesting")
    return data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key, value in pairs:
        if key in data:
            raise ValueError(f"the key {key!r:.60} stands here twice")
        data[key] = value
    return data


def _constant(word: str) -> float:
    if word == "NaN":
        raise ValueError("NaN is no number")
    return float(word)


def _deeper(value: Any, levels: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(levels == 0 or _deeper(one, levels - 1) for one in inside)
