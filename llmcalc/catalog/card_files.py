"""Cards with the files they come from: for those who check files, not only what is in them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from llmcalc.catalog import files, find
from llmcalc.catalog.card_shelf import CARDS
from llmcalc.catalog.wording import Path
from llmcalc.errors import InvalidFileError
from llmcalc.spec.card import ModelCard


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFile:
    """What a user named, and the file it means."""

    name: str
    """What `find.card` takes."""
    file: str | None
    """None for stdin."""

    def card(self) -> ModelCard:
        """The card. Raises as `find.card`."""
        return find.card(self.name)

    def line(self, path: Path) -> int:
        """The line of a YAML file where a value stands; 0 where none is known."""
        if self.file is None or not _is_yaml(self.file):
            return 0
        from llmcalc.catalog.yamlfile import decoded, read  # noqa: PLC0415  (only for a difference)

        try:
            return read(decoded(files.content(self.file), self.file), self.file).line(path)
        except InvalidFileError:
            return 0


def card_files(names: Sequence[str]) -> tuple[CardFile, ...]:
    """A file for each name, path, card of a folder, or of the catalog where nothing is named.

    Raises UnknownNameError where a name means nothing, InvalidFileError for a folder without cards.
    """
    if not names:
        return tuple(_file(path) for path in CARDS.paths())
    found = {one: None for name in names for one in _named(name)}
    return tuple(found)


def _named(name: str) -> Iterator[CardFile]:
    path = os.path.expanduser(name)
    is_known = not files.is_path(name) and CARDS.path(name) is not None
    if name != "-" and not is_known and os.path.isdir(path):
        yield from _folder(path)
    elif name == "-":
        yield CardFile(name="-", file=None)
    elif files.is_path(name):
        files.content(path, files.LARGEST_CONFIG)  # a missing file is said before work begins
        yield CardFile(name=name, file=path)
    else:
        yield CardFile(name=name, file=CARDS.path(name) or _existing(name))


def _existing(name: str) -> str | None:
    if os.path.exists(name):
        return name
    find.card(name)  # raises, with the nearest name
    return None


def _folder(path: str) -> Iterator[CardFile]:
    """The cards of a folder, and its config.json."""
    inside = sorted(os.listdir(path))
    wanted = [one for one in inside if _is_yaml(one) or one == "config.json"]
    if not wanted:
        message = f"{path}: the folder holds no card and no config.json"
        raise InvalidFileError(message, hint="cards end in .yaml")
    for one in wanted:
        yield _file(os.path.join(path, one))


def _file(path: str) -> CardFile:
    # A bare file name could be a model's name.
    plain = files.is_path(path)
    return CardFile(name=path if plain else os.path.join(".", path), file=path)


def _is_yaml(path: str) -> bool:
    return path.lower().endswith((".yaml", ".yml"))
