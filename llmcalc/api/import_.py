"""`import`: a card from a config.json, a checkpoint's header or the hub, and what is stored."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from llmcalc.api.params import StoredItem, params
from llmcalc.blueprint import lower
from llmcalc.catalog import find, hub, source
from llmcalc.catalog.checkpoint import Checkpoint, StoredTensor
from llmcalc.catalog.files import put
from llmcalc.catalog.source import Source
from llmcalc.catalog.write import card_yaml, file_data
from llmcalc.errors import InvalidFileError, UnknownNameError
from llmcalc.report.model import Column, Report, Table
from llmcalc.spec.card import ModelCard

SHOWN = 5
"""Tensors that one warning names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A key of the card that the source does not say."""

    key: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSum:
    """Tensors of one type, or of one name in all layers."""

    name: str
    tensors: int
    numbers: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """What the checkpoint stores, to the last number."""

    format: Literal["safetensors", "gguf"]
    tensors: int
    numbers: int
    bytes: int
    dtypes: tuple[StoredSum, ...]
    groups: tuple[StoredSum, ...]
    unexplained: int | None
    """Numbers that neither the card's parameters nor known buffers are; null: cannot be said."""
    suspects: tuple[str, ...]
    """Tensors of a shape that the card does not have, where something is unexplained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """One card, as its file says it with defaults left out, and what lies beside it."""

    source: str
    card: dict[str, Any] | None
    """Null where the source does not say the architecture."""
    unknown: tuple[Unknown, ...]
    stored: StoredFile | None
    """Null where the source is no checkpoint."""
    file: str | None
    """The file that was written."""
    assumptions: Mapping[str, str]
    basis: Literal["exact"]


ASSUMPTIONS = {"stored": "what the headers say; no tensor and no code is read"}


def import_(
    name: str,
    *,
    online: bool = False,
    told: str | None = None,
    output: str | None = None,
    force: bool = False,
) -> Report:
    """A card of what is at the path `name`, or with `online` of a hub id; `told` is its source.

    With `output` the card goes to that file, whole or not at all. Raises UsageError where it exists
    and `force` is not said, UnknownNameError where there is nothing, InvalidFileError where nothing
    can be read or, with `output`, where the architecture stays unknown.
    """
    found = _found(name, online=online)
    card = _sourced(found.card, found.origin, told) if found.card else None
    if output is not None:
        if card is None:
            raise found.refused or InvalidFileError(f"{name}: there is no card in it")
        put(output, card_yaml(card), force=force)
    stored = _stored(found.checkpoint, card) if found.checkpoint else None
    result = ImportResult(
        source=_printable(found.origin), card=file_data(card) if card else None,
        unknown=_unknown(card, found, told) if card else (), stored=stored,
        file=None if output is None else _printable(output),
        assumptions=ASSUMPTIONS, basis="exact",
    )  # fmt: skip
    text = output or (card_yaml(card) if card else "")
    return Report(
        command="import", results=(result,), text=text, warnings=_warnings(result, found),
        tables=() if card else _tables(stored),
    )  # fmt: skip


def _found(name: str, *, online: bool) -> Source:
    path = os.path.expanduser(name)
    if (exists := os.path.exists(path)) or not find.is_hub_id(name):
        if not exists and name.lower() in map(str.lower, find.card_names()):
            hint = f"`llmcalc show {name}` prints its card"
            raise UnknownNameError(f"{name} is in the catalog already", hint=hint)
        return source.read(path)
    if not online:
        hint = "say --online to ask the Hugging Face hub, or give the path of a config.json"
        raise UnknownNameError(f"no file at {name}", hint=hint)
    return hub.fetch(name)


def _sourced(card: ModelCard, origin: str, told: str | None) -> ModelCard:
    """The card with where it came from before how it was read."""
    return replace(card, source=f"{_printable(told or origin)[:1000]}; {card.source}")


def _printable(text: str) -> str:
    """The text for a file or JSON: a path may hold bytes that are no text."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _unknown(card: ModelCard, found: Source, told: str | None) -> tuple[Unknown, ...]:
    missing = {"released": "neither a config nor a header says when"}
    if told is None:
        missing["source"] = "only the path or id is; --source says where it is from and since when"
    if card.published is None:
        missing["published"] = "add the count that the authors give, with its source"
    if card.max_position_embeddings is None:
        missing["max_position_embeddings"] = "it counts as without a limit"
    if found.checkpoint and found.checkpoint.format == "gguf" and not _slides(card):
        missing["window"] = "a GGUF file tells a sliding window of some architectures only"
    return tuple(Unknown(key=key, why=why) for key, why in missing.items())


def _slides(card: ModelCard) -> bool:
    parts = [part for block in card.blocks.values() for part in block.parts]
    return any(getattr(part, "window", None) for part in parts)


def _stored(checkpoint: Checkpoint, card: ModelCard | None) -> StoredFile:
    tensors = checkpoint.tensors
    rest = _unexplained(card) if card else None
    return StoredFile(
        format=checkpoint.format, tensors=len(tensors), numbers=checkpoint.numbers,
        bytes=sum(one.bytes for one in tensors),
        dtypes=_sums((one.dtype, one) for one in tensors),
        groups=_sums((one.group, one) for one in tensors),
        unexplained=rest, suspects=_suspects(card, tensors) if card and rest else (),
    )  # fmt: skip


def _sums(named: Iterable[tuple[str, StoredTensor]]) -> tuple[StoredSum, ...]:
    """Tensors added up by name, in the order of the file."""
    found: dict[str, list[StoredTensor]] = {}
    for name, tensor in named:
        found.setdefault(name, []).append(tensor)
    return tuple(
        StoredSum(
            name=name, tensors=len(each), numbers=sum(one.numel for one in each),
            bytes=sum(one.bytes for one in each),
        )
        for name, each in found.items()
    )  # fmt: skip


def _unexplained(card: ModelCard) -> int | None:
    """What `params` cannot itemise; None where the file packs several weights into a number."""
    (counted,) = params([card]).results
    if counted.stored is None:
        return None
    items: tuple[StoredItem, ...] = counted.stored.items
    return sum(item.params for item in items if item.name == "unexplained")


def _suspects(card: ModelCard, tensors: tuple[StoredTensor, ...]) -> tuple[str, ...]:
    """Groups of tensors with a number of elements that no weight of the card has."""
    known = set()
    for section in (ledger := lower(card)).sections + ledger.mtp:
        for operation in section.operations:
            for weight in getattr(operation, "weights", ()):
                known |= {weight.numel, weight.numel // (weight.experts or 1)}
    listed = {one.name for one in card.stored}
    return tuple(
        dict.fromkeys(
            one.group for one in tensors
            if one.numel not in known and one.group.replace(".*", "") not in listed
        )
    )  # fmt: skip


def _warnings(result: ImportResult, found: Source) -> tuple[str, ...]:
    """For people: why there is no card, what it does not know, what it does not explain."""
    if result.card is None:
        error = found.refused
        return (f"no card: {error.message}; {error.hint}",) if error else ()
    told = "; ".join(f"{one.key} ({one.why})" for one in result.unknown)
    warnings: tuple[str, ...] = (f"not known: {told}",) if told else ()
    if found.unread:
        warnings += (f"its tensors are left out: {found.unread.message}",)
    stored = result.stored
    if stored and stored.unexplained:
        names = ", ".join(stored.suspects[:SHOWN]) + (", …" if stored.suspects[SHOWN:] else "")
        which = f", likely in {names}" if names else ""
        rest = f"{stored.unexplained:,} numbers of the checkpoint are not in the card"
        return (*warnings, f"{rest}{which}")
    return warnings


def _tables(stored: StoredFile | None) -> tuple[Table, ...]:
    """What is stored, by type and by name."""
    if stored is None:
        return ()
    total = StoredSum(
        name="total", tensors=stored.tensors, numbers=stored.numbers, bytes=stored.bytes
    )
    return tuple(
        Table(
            title=f"stored by {word}", columns=_columns(word),
            rows=tuple((one.name, one.tensors, one.numbers, one.bytes) for one in (*each, total)),
        )
        for word, each in (("type", stored.dtypes), ("tensor", stored.groups))
    )  # fmt: skip


def _columns(word: str) -> tuple[Column, ...]:
    return (
        Column(key=word, title=word),
        Column(key="tensors", title="tensors", unit="count"),
        Column(key="numbers", title="numbers", unit="count"),
        Column(key="bytes", title="size", unit="bytes"),
    )
