"""Plain data to spec: types and ranges by pydantic, then the rules that no type can say."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError

from llmcalc.catalog import expected
from llmcalc.catalog.rules import broken
from llmcalc.catalog.suggest import did_you_mean, nearest
from llmcalc.catalog.wording import Path, spelled, value_shown
from llmcalc.catalog.yamlfile import Document
from llmcalc.errors import InvalidFileError, Problem
from llmcalc.spec.parts import Mlp, Part

T = TypeVar("T")
_Mistake = tuple[Path, str, str]
"""Path in the file, message without the place, hint."""

_PLACEHOLDER = Mlp(intermediate_size=1)
"""Stands for a part that has its own mistakes, so that the rest is still checked."""


def validate(kind: type[T], document: Document) -> T:
    """The card or spec that `document` holds. Raises InvalidFileError, one problem a mistake."""
    mistakes: list[_Mistake] = []
    data = _with_parts(document.data, mistakes)
    value = _checked(kind, data, (), mistakes)
    if value is not None and not mistakes:
        mistakes.extend(broken(value))
    if value is None or mistakes:
        raise InvalidFileError.of(_problems(document, mistakes))
    return value


def validate_data(kind: type[T], data: dict[str, Any], origin: str) -> T:
    """As `validate`, for data that came from no file of its own: errors name `origin` alone."""
    return validate(kind, Document(data, origin))


def _problems(document: Document, mistakes: list[_Mistake]) -> tuple[Problem, ...]:
    """One problem a mistake in the order of the file's lines."""
    ordered = sorted(mistakes, key=lambda mistake: document.line(mistake[0]))
    return tuple(
        Problem(f"{document.place(path)}: {spelled(path) or 'the file'} {message}", hint)
        for path, message, hint in ordered
    )


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    # A configuration reaches dataclasses of the standard library only through a type around them.
    around: Any = kind | None
    return TypeAdapter(around, config=ConfigDict(extra="forbid"))


def _checked(kind: type[T], data: Any, root: Path, mistakes: list[_Mistake]) -> T | None:
    """The value that pydantic makes of `data`, or None and what is wrong with it."""
    if not isinstance(data, dict):
        mistakes.append(_wrong(kind, root, data))
        return None
    try:
        adapter: TypeAdapter[Any] = _adapter(cast("Any", kind))
        value: T = adapter.validate_python(data)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False)
        slips = _slips(kind, errors)
        mistakes.extend(
            _mistake(kind, root, one) for one in errors if _as_missing(one) not in slips
        )
        return None
    return value


def _slips(kind: type, errors: list[Any]) -> set[Path]:
    """Places of keys that are only missing because they are misspelled, which is one mistake."""
    found = set()
    for error in errors:
        if error["type"] == "unexpected_keyword_argument":
            *holder, key = error["loc"]
            known = expected.hints(expected.required(expected.at(kind, tuple(holder))))
            found.add((*holder, nearest(str(key)[:100], known)))
    return found


def _as_missing(error: Any) -> Path | None:
    """Where a key is missing, None for any other error."""
    loc: Path = error["loc"]
    return loc if error["type"] == "missing" else None


def _mistake(kind: type, root: Path, error: Any) -> _Mistake:
    """One error of pydantic in our words, at its place in the file."""
    loc: Path = error["loc"]
    path = root + loc
    holder = expected.required(expected.at(kind, loc[:-1]))
    if error["type"] == "unexpected_keyword_argument":
        known = tuple(expected.hints(holder))
        return path, "is no key of this file", did_you_mean(str(loc[-1]), known)
    if error["type"] == "missing":
        annotation = expected.at(kind, loc)
        return path, "is missing", f"add `{loc[-1]}: …`, {expected.in_words(annotation)}"
    if loc[-1] == "[key]":
        words = expected.in_words(expected.key_of(expected.at(kind, loc[:-2])))
        return path[:-1], f"has a key that is not {words}", "rename it"
    return _wrong(expected.at(kind, loc), path, error["input"])


def _wrong(annotation: Any, path: Path, value: Any) -> _Mistake:
    words = expected.in_words(annotation)
    longest = expected.longest(annotation)
    if isinstance(value, str) and longest and len(value) > longest:
        return path, f"has {len(value)} characters, at most {longest} are allowed", "shorten it"
    return path, f"must be {words}, not {value_shown(value)}", _hint(annotation, path, value)


def _hint(annotation: Any, path: Path, value: Any) -> str:
    words = expected.in_words(annotation)
    if isinstance(value, str):
        choices = expected.choices(annotation)
        if choices:
            return did_you_mean(value, choices)
        if words == "a list":
            return f"write `{path[-1]}: [{value:.40}]`"
        if words == "true or false":
            return "write true or false without quotes"
        if " number " in words and value.isdigit():
            return "write the number without quotes"
    if words.startswith(("a name", "a word", "text")) and isinstance(value, int | float):
        return f'put it in quotes: "{value}"'
    return f"change {spelled(path) or 'the file'}, see `llmcalc schema`"


def _with_parts(data: dict[str, Any], mistakes: list[_Mistake]) -> dict[str, Any]:
    """The card's data with every part of every block checked and made by its own class.

    Each part is tried as the kind that its key names and as no other, so a mistake is one error.
    """
    data = _stack(data, (), mistakes)
    if "encoder" in data:
        data = data | {"encoder": _stack(data["encoder"], ("encoder",), mistakes)}
    if isinstance(data.get("towers"), list):
        towers = [_tower(at, one, mistakes) for at, one in enumerate(data["towers"])]
        data = data | {"towers": towers}
    return data


def _tower(at: int, tower: Any, mistakes: list[_Mistake]) -> Any:
    if not isinstance(tower, dict) or "stack" not in tower:
        return tower
    return tower | {"stack": _stack(tower["stack"], ("towers", at, "stack"), mistakes)}


def _stack(data: Any, root: Path, mistakes: list[_Mistake]) -> Any:
    """What holds `blocks` at `root`: the card itself, its encoder or the layers of a tower."""
    if not isinstance(data, dict) or not isinstance(data.get("blocks"), dict):
        return data
    made = {
        name: _block((*root, "blocks", name), block, mistakes)
        for name, block in data["blocks"].items()
    }
    return data | {"blocks": made}


def _block(root: Path, block: Any, mistakes: list[_Mistake]) -> Any:
    if not isinstance(block, dict) or not isinstance(block.get("parts"), list):
        return block
    parts = [
        _PLACEHOLDER if part is None else part
        for at, entry in enumerate(block["parts"])
        for part in (_part((*root, "parts", at), entry, mistakes),)
    ]
    return block | {"parts": parts}


def _part(path: Path, entry: Any, mistakes: list[_Mistake]) -> Any:
    """The part that `- attn: {…}` says, or None and a mistake."""
    if not isinstance(entry, dict) or len(entry) != 1:
        mistakes.append(_wrong(Part, path, entry))
        return None
    (tag, values), *_ = entry.items()
    if tag not in expected.KINDS:
        hint = did_you_mean(tag, tuple(expected.KINDS))
        mistakes.append(((*path, tag), "is no kind of part", hint))
        return None
    if isinstance(values, dict) and "kind" in values:
        hint = f"the key {tag} says the kind already: remove it"
        mistakes.append(((*path, tag, "kind"), "is no key of this file", hint))
        return None
    return _checked(expected.KINDS[tag], values, (*path, tag), mistakes)
