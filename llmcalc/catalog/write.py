"""Spec to text: a card or GPU spec as a person would write it, read back to the same value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from llmcalc.catalog.scalar import plain
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec
from llmcalc.spec.measurement import Measurement
from llmcalc.spec.parts import PARTS

WIDEST = 110
_ALWAYS_OPEN = {"blocks", "parts", "prices", "memory", "compute", "sources"}
"""Keys whose value takes a line of its own for each entry, however short."""
_LONG_WORD = 60
_BARE = re.compile(r"[A-Za-z0-9_(/.](?:[^\n]*[^\s:])?")
_UNSAFE = re.compile(r": |\s#|  |\t")
_UNSAFE_IN_FLOW = re.compile(r"[,\[\]{}:#]")


def card_yaml(card: ModelCard) -> str:
    """The text of a card file: keys in the order of the spec, defaults left out."""
    return _text(card, "card.schema.json")


def gpu_yaml(spec: GpuSpec) -> str:
    """The text of a GPU spec file: keys in the order of the spec, defaults left out."""
    return _text(spec, "gpu.schema.json")


def measurement_yaml(measurement: Measurement) -> str:
    """The text of a saved measurement: keys in the order of the spec, defaults left out."""
    return _text(measurement, "")


def file_data(value: Any) -> Any:
    """A spec value as the plain data that a file holds: parts under their kind, no defaults."""
    if isinstance(value, PARTS):
        return {value.kind: {k: v for k, v in _said(value).items() if k != "kind"}}
    if is_dataclass(value):
        return _said(value)
    if isinstance(value, dict):
        return {key: file_data(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return [file_data(one) for one in value]
    return value


def _said(value: Any) -> dict[str, Any]:
    """What differs from the default, field by field."""
    return {
        field.name: file_data(one)
        for field in fields(value)
        if field.default is MISSING or getattr(value, field.name) != field.default
        for one in (getattr(value, field.name),)
    }


def _text(value: Any, schema: str) -> str:
    lines = [f"# yaml-language-server: $schema={schema}"] if schema else []
    for key, one in file_data(value).items():
        lines += _entry(key, one, "")
    return "\n".join(lines) + "\n"


def _entry(key: str, value: Any, indent: str) -> Iterator[str]:
    """The lines of `key: value`, inline where it stays readable."""
    head = f"{indent}{_scalar(key)}:"
    if isinstance(value, dict | list) and not _inline(key, value, head):
        yield head
        keys = list(value) if isinstance(value, dict) else [None] * len(value)
        values = value.values() if isinstance(value, dict) else value
        for inner_key, one in zip(keys, values, strict=True):
            yield from _item(inner_key, one, indent + "  ")
    elif isinstance(value, dict | list):
        yield from _wrapped_flow(head + " ", value)
    else:
        yield from _wrapped_scalar(head, value, indent + "  ")


def _item(key: str | None, value: Any, indent: str) -> Iterator[str]:
    """One entry of an open mapping, or of an open list where there is no key."""
    if key is not None:
        yield from _entry(key, value, indent)
    elif isinstance(value, dict) and not _flow_fits(value, indent + "- "):
        lines = [line for one in value.items() for line in _entry(*one, indent + "  ")]
        yield from (f"{indent}- {lines[0].lstrip()}", *lines[1:])
    else:
        yield f"{indent}- {_flow(value)}"


def _inline(key: str, value: dict[str, Any] | list[Any], head: str) -> bool:
    """Whether a collection is best written as `{…}` or `[…]`, over several lines if need be."""
    if not value:
        return True
    if key in _ALWAYS_OPEN or _holds_mapping(value):
        return False
    inside = value.values() if isinstance(value, dict) else value
    short = all(len(_flow(one)) <= _LONG_WORD for one in inside)
    return short or (isinstance(value, dict) and _flow_fits(value, head + " "))


def _flow_fits(value: dict[str, Any], head: str) -> bool:
    """Whether a mapping of plain values fits behind `head`; a part stays open for its key."""
    return not _holds_mapping(value) and len(head) + len(_flow(value)) <= WIDEST


def _holds_mapping(value: dict[str, Any] | list[Any]) -> bool:
    """Whether there is a mapping anywhere inside."""
    inside = value.values() if isinstance(value, dict) else value
    return any(
        isinstance(one, dict) or (isinstance(one, list) and _holds_mapping(one)) for one in inside
    )


def _flow(value: Any) -> str:
    if isinstance(value, dict | list):
        start, end = "{}" if isinstance(value, dict) else "[]"
        return start + ", ".join(_flow_items(value)) + end
    return _scalar(value, flow=True)


def _flow_items(value: dict[str, Any] | list[Any]) -> list[str]:
    if isinstance(value, dict):
        return [f"{_scalar(key, flow=True)}: {_flow(one)}" for key, one in value.items()]
    return [_flow(one) for one in value]


def _wrapped_flow(head: str, value: dict[str, Any] | list[Any]) -> Iterator[str]:
    """`{a: 1, b: 2}` behind `head`, broken between entries, later lines under the first entry."""
    start, end = "{}" if isinstance(value, dict) else "[]"
    items = _flow_items(value)
    pieces = [f"{item}," for item in items[:-1]] + [f"{items[-1] if items else ''}{end}"]
    yield from _filled(head + start, pieces, " " * (len(head) + 1), glue="")


def _wrapped_scalar(head: str, value: Any, indent: str) -> Iterator[str]:
    """A scalar behind `head`; long text runs over several lines, which YAML joins by one space."""
    text = _scalar(value)
    foldable = "  " not in text and not text.startswith('" ') and not text.endswith(' "')
    if foldable:
        yield from _filled(head, text.split(" "), indent, glue=" ")
    else:
        yield f"{head} {text}"


def _filled(line: str, pieces: list[str], indent: str, glue: str) -> Iterator[str]:
    """Lines no wider than WIDEST where the pieces allow it."""
    for piece in pieces:
        if len(line) + len(glue) + len(piece) > WIDEST and line.strip() and glue == " ":
            yield line
            line, glue = indent, ""
        line += glue + piece
        glue = " "
    yield line


def _scalar(value: Any, *, flow: bool = False) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, int):
        return str(value)
    return value if _bare(value, flow=flow) else _quoted(value)


def _bare(text: str, *, flow: bool) -> bool:
    """Whether YAML reads `text` without quotes as that text."""
    return (
        text.replace(" ", "").isprintable()
        and _BARE.fullmatch(text) is not None
        and _is_text(text[:200])
        and not _UNSAFE.search(text)
        and not (flow and _UNSAFE_IN_FLOW.search(text))
    )


def _is_text(text: str) -> bool:
    """Whether YAML takes `text` for text, and not for a number, however large."""
    try:
        return plain(text) == text
    except ValueError:
        return False


def _quoted(text: str) -> str:
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code < 2**16 else f"\\U{code:08x}"
