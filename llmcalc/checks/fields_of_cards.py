"""Every field of a card that carries a number, and the same card with another value there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from llmcalc.catalog.wording import Path
from llmcalc.spec.card import ModelCard
from llmcalc.spec.limits import Range
from llmcalc.spec.pattern import LONGEST

TEXT = frozenset(
    {
        "name", "family", "aliases", "released", "source", "confidence", "notes", "published",
        "kind", "activation", "modality", "scale", "max_position_embeddings", "rotary_dim",
        "placement", "chunked", "state_dtype",
    }
)  # fmt: skip
"""Fields that no parameter hangs on."""

_COUNT = re.compile(r"(\d+)\s*\*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One value, wherever in the card it stands alike: latent attention of two kinds of layers."""

    name: str
    paths: tuple[Path, ...]
    """Places inside the dataclasses."""
    value: Any
    choices: tuple[Any, ...]
    """Other values to try, where they can be listed."""
    largest: int = 0
    """The largest number that may stand here, where any number may."""

    @property
    def path(self) -> Path:
        """The first place, as a file spells it: a part stands under its kind."""
        return self.paths[0]


def fields_of(card: ModelCard) -> Iterator[Field]:
    """Every field on which a number may hang: shared values first together, then one by one."""
    shared: dict[tuple[str, str, Any], list[Field]] = {}
    for holder, one in _walk(card, ()):
        shared.setdefault((holder, one.name, one.value), []).append(one)
    for group in shared.values():
        paths = tuple(path for one in group for path in one.paths)
        yield replace(group[0], paths=paths)
        if len(group) > 1:
            yield from group
    yield from _counts(card)


def changed(card: ModelCard, field: Field, value: Any) -> ModelCard:
    """The card with that value in all places of the field."""
    for path in field.paths:
        card = _replaced(card, path, value)
    return card


def in_file(card: ModelCard, path: Path) -> Path:
    """A place inside the dataclasses as a place in the file, where a part stands under its kind."""
    found: list[str | int] = []
    here: Any = card
    for step in path:
        if isinstance(step, int) and found and found[-1] == "parts":
            found += [step, here[step].kind]
        else:
            found.append(step)
        here = _at(here, step)
    if found and found[0] == "layers":
        found = found[:2]
    return tuple(found)


def _walk(value: Any, path: Path) -> Iterator[tuple[str, Field]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _walk(one, (*path, key))
    elif isinstance(value, tuple):
        for at, one in enumerate(value):
            yield from _walk(one, (*path, at))
    elif is_dataclass(value) and not isinstance(value, type):
        hints = get_type_hints(type(value), include_extras=True)
        for field in fields(value):
            if field.name in TEXT:
                continue
            inner = getattr(value, field.name)
            yield from _walk(inner, (*path, field.name))
            if found := _field(field.name, hints[field.name], inner, (*path, field.name)):
                yield type(value).__name__, found


def _field(name: str, hint: Any, value: Any, path: Path) -> Field | None:
    """The field, if it holds a number, a switch or one of a few words."""
    kinds = set(_flat(hint))
    words = {one for one in kinds if isinstance(one, str)}
    choices: set[Any] = {True, False} if bool in kinds else set(words)
    if not choices and int not in kinds:
        return None
    if type(None) in kinds:
        choices.add(None)
    largest = max((int(one.high) for one in kinds if isinstance(one, Range)), default=0)
    return Field(
        name=name, paths=(path,), value=value, largest=largest,
        choices=tuple(sorted(choices - {value}, key=str)),
    )  # fmt: skip


def _flat(hint: Any) -> Iterator[Any]:
    """Types, words, ranges and None that an annotation is made of, classes as they are."""
    if get_origin(hint) is Annotated:
        yield from (hint.__origin__, *hint.__metadata__)
    elif get_origin(hint) in {Union, UnionType}:
        for one in get_args(hint):
            yield from _flat(one)
    elif get_origin(hint) is Literal:
        yield from get_args(hint)
    else:
        yield hint


def _counts(card: ModelCard) -> Iterator[Field]:
    """How often a block repeats, number by number in the patterns of `layers`."""
    for at, pattern in enumerate(card.layers):
        for number, match in enumerate(_COUNT.finditer(pattern)):
            path: Path = ("layers", at, number)
            yield Field(
                name="layers", paths=(path,), value=int(match[1]), choices=(), largest=LONGEST
            )


def _at(holder: Any, step: str | int) -> Any:
    if isinstance(holder, (dict, tuple)):
        return holder[step]  # type: ignore[index]
    return getattr(holder, str(step), None)


def _replaced(holder: Any, path: Path, value: Any) -> Any:
    step, *rest = path
    if isinstance(holder, str) and isinstance(step, int):  # a count inside a pattern
        match = list(_COUNT.finditer(holder))[step]
        return holder[: match.start(1)] + str(value) + holder[match.end(1) :]
    inner = _replaced(_at(holder, step), tuple(rest), value) if rest else value
    if isinstance(holder, dict):
        return holder | {step: inner}
    if isinstance(holder, tuple) and isinstance(step, int):
        return (*holder[:step], inner, *holder[step + 1 :])
    return replace(holder, **{str(step): inner})
