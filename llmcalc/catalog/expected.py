"""What the spec expects at a place in a file, and how to say it in plain words."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from llmcalc.catalog.wording import Path
from llmcalc.spec.limits import Range, Text
from llmcalc.spec.parts import PARTS, Part

KINDS: dict[str, type[Part]] = {get_args(get_type_hints(part)["kind"])[0]: part for part in PARTS}
"""The key that a card writes for each kind of part."""


def at(kind: type, path: Path) -> Any:
    """The annotation at `path` of a file that holds `kind`, or None where the spec has none."""
    here: Any = kind
    for key in path:
        here = _step(here, key)
    return here


def _step(here: Any, key: str | int) -> Any:
    """One key or index down from an annotation."""
    bare = required(here)
    if isinstance(bare, type) and is_dataclass(bare):
        return hints(bare).get(str(key))
    if bare == Part:
        return KINDS.get(str(key))
    if get_origin(bare) is tuple:
        return get_args(bare)[0]
    if get_origin(bare) is dict:
        return get_args(bare)[1]
    return None


@cache
def hints(kind: type) -> dict[str, Any]:
    """Key to annotation of a dataclass, without the tag that a part's own key stands for."""
    found = get_type_hints(kind, include_extras=True)
    if kind in PARTS:
        del found["kind"]
    return found


def needed(kind: type) -> tuple[str, ...]:
    """Keys without a default."""
    return tuple(
        field.name
        for field in fields(kind)
        if field.default is MISSING and field.default_factory is MISSING
    )


def required(annotation: Any) -> Any:
    """The annotation without the `| None` of a key that may be left out."""
    if get_origin(annotation) in (Union, UnionType) and NoneType in get_args(annotation):
        rest = [one for one in get_args(annotation) if one is not NoneType]
        return rest[0] if len(rest) == 1 else annotation
    return annotation


def in_words(annotation: Any) -> str:
    """What a value must be, as `a whole number from 1 to 16`."""
    bare = required(annotation)
    if get_origin(bare) is Annotated:
        return _limited(*get_args(bare)[:2])
    if get_origin(bare) is Literal:
        return _choice([str(one) for one in get_args(bare)])
    if bare == Part:
        return f"one part as `- attn: {{num_heads: 32}}`, a part being {_choice(list(KINDS))}"
    if get_origin(bare) is tuple:
        return "a list"
    return "a mapping of keys to values"


def _limited(base: type, limit: Any) -> str:
    if isinstance(limit, Range):
        number = "a whole number" if base is int else "a number"
        return f"{number} from {_short(limit.low)} to {_short(limit.high)}"
    if isinstance(limit, Text):
        return limit.words
    return "true or false"


def _short(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"


def _choice(words: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def choices(annotation: Any) -> tuple[str, ...]:
    """The words a Literal admits, none for anything else."""
    bare = required(annotation)
    return tuple(map(str, get_args(bare))) if get_origin(bare) is Literal else ()


def key_of(annotation: Any) -> Any:
    """The annotation of a dict's keys."""
    return get_args(required(annotation))[0]


def longest(annotation: Any) -> int | None:
    """The most characters that a text may have, None for anything else."""
    limits = get_args(required(annotation))[1:]
    return next((one.longest for one in limits if isinstance(one, Text)), None)
