"""Text of a YAML file to plain data, refusing whatever a card or a spec never needs.

The tree is built here from the parser's events, so that size, depth and aliases are bounded while
reading and no constructor of the YAML library ever runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from llmcalc.catalog.files import LARGEST
from llmcalc.catalog.scalar import plain
from llmcalc.catalog.wording import Path, word
from llmcalc.errors import InvalidFileError

DEEPEST = 32
MOST_NODES = 100_000
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Document:
    """The data of one file, and enough of its text to say on which line a value stands."""

    data: dict[str, Any]
    origin: str
    text: str = ""

    def line(self, path: Path) -> int:
        """Line of the value at `path`, or of the nearest thing around it; 0 where none is known."""
        return _line(self.text, path) if self.text else 0

    def place(self, path: Path) -> str:
        """`origin:line`, or the origin alone where the data came without text."""
        line = self.line(path)
        return f"{self.origin}:{line}" if line else self.origin


def decoded(raw: bytes, origin: str) -> str:
    """The text of a file's bytes. Raises InvalidFileError for what is no UTF-8 text."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InvalidFileError(
            f"{origin}:{line}: the file is no UTF-8 text",
            hint="save it as UTF-8; a card or a spec is a text file",
        ) from None
    return text


def read(text: str, origin: str) -> Document:
    """The mapping that `text` holds; `origin` names the file in errors.

    Raises InvalidFileError for anything that is not one plain, bounded YAML mapping.
    """
    _check_text(text, origin)
    reader = _Reader(origin)
    try:
        data = reader.document(yaml.parse(text, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # Where the text ends too early, the mark stands on the line after the last.
        line = min(mark.line + 1 if mark else 1, text.rstrip().count("\n") + 1)
        raise _bad(origin, line, _words(error), "check indentation, colons and quotes") from None
    except yaml.YAMLError:
        raise _bad(origin, 1, "this is no YAML text", "a card is a YAML mapping") from None
    if not isinstance(data, dict):
        what = "empty" if data is None else "no mapping of keys to values"
        raise _bad(origin, 1, f"the file is {what}", "start with `name: …`, one key a line")
    return Document(data, origin, text)


def _words(error: yaml.MarkedYAMLError) -> str:
    return ", ".join(part for part in (error.context, error.problem) if part)


def _bad(origin: str, line: int, message: str, hint: str) -> InvalidFileError:
    return InvalidFileError(f"{origin}:{line}: {message}", hint=hint)


def _check_text(text: str, origin: str) -> None:
    """Refuse what would cost too much or choke the parser before any of it is parsed."""
    if len(text) > LARGEST:
        message = f"the file has {len(text)} characters, at most {LARGEST} are read"
        raise _bad(origin, 1, message, "a card or a spec is a few kilobytes of YAML")
    if found := _NO_TEXT.search(text):
        line = text.count("\n", 0, found.start()) + 1
        message = f"the file holds a character that is no text ({found[0]!r})"
        raise _bad(origin, line, message, "is this a binary file? A card is a text file")


class _Reader:
    """One walk over the events of one file."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.nodes = 0
        self.anchors: dict[str, tuple[Any, int]] = {}

    def document(self, events: Iterator[Any]) -> Any:
        """The only document of the stream, or None where there is none."""
        data, documents = None, 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._bad(event, "a second document starts here", "one file, one card")
                data = self._node(next(events), events, 0)
        return data

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Any:
        """The value that starts with `event`, read to its end."""
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if event.tag is not None:
            raise self._bad(
                event, f"the tag {word(event.tag)} has no meaning here", "leave the tag out"
            )
        if depth > DEEPEST:
            raise self._bad(event, f"more than {DEEPEST} levels of nesting", "a card has six")
        before = self.nodes
        self._count(event, 1)
        value: Any
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(events, depth + 1)
        else:
            value = self._mapping(events, depth + 1)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, self.nodes - before)
        return value

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            message = f"*{event.anchor} stands before its anchor or inside it"
            raise self._bad(event, message, f"write &{event.anchor} at an earlier value")
        value, size = self.anchors[event.anchor]
        self._count(event, size)
        return value

    def _count(self, event: Any, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MOST_NODES:
            message = f"the file means more than {MOST_NODES} values"
            raise self._bad(event, message, "use fewer aliases")

    def _scalar(self, event: Any) -> Any:
        if not event.implicit[0]:
            return event.value
        try:
            return plain(event.value)
        except ValueError as error:
            raise self._bad(event, str(error), "write a number that a machine can have") from None

    def _sequence(self, events: Iterator[Any], depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(self._node(event, events, depth))
        return items

    def _mapping(self, events: Iterator[Any], depth: int) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            key = self._node(event, events, depth)
            value_event = next(events)
            value = self._node(value_event, events, depth)
            if key == "<<" and isinstance(event, yaml.ScalarEvent) and event.implicit[0]:
                merged = self._merge(value_event, value) | merged
            elif not isinstance(key, str):
                raise self._bad(
                    event, f"{str(key)[:40]} is no key", "keys are words; quote a number"
                )
            elif key in own:
                raise self._bad(
                    event, f"the key {word(key)} stands here twice", "remove one of them"
                )
            else:
                own[key] = value
        return merged | own

    def _merge(self, event: Any, value: Any) -> dict[str, Any]:
        """The keys that `<<: *a` or `<<: [*a, *b]` brings in; earlier ones win."""
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise self._bad(event, "<< takes a mapping", "write `<<: *anchor` of a mapping")
        found: dict[str, Any] = {}
        for source in sources:
            found = source | found
        return found

    def _bad(self, event: Any, message: str, hint: str) -> InvalidFileError:
        return _bad(self.origin, event.start_mark.line + 1, message, hint)


def _line(text: str, path: Path) -> int:
    node = _root(text)
    line = node.start_mark.line if node else 0
    for key in path:
        found = _child(node, key)
        if found is None:
            break
        line, node = found
    return int(line) + 1


@lru_cache(maxsize=1)
def _root(text: str) -> Any:
    """The node tree, composed only once there is an error to place; `read` has bounded it."""
    return yaml.compose(text, Loader=_Loader)


def _child(node: Any, key: str | int) -> tuple[int, Any] | None:
    """Line and node of one item or key, also of a key that a merge brought in."""
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        item = node.value[key]
        return item.start_mark.line, item
    if not isinstance(node, yaml.MappingNode):
        return None
    merged: list[Any] = []
    for name, value in node.value:
        if name.value == key:
            return name.start_mark.line, value
        if name.value == "<<":
            merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
    return next(filter(None, (_child(source, key) for source in merged)), None)
