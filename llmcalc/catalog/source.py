"""A file or folder that describes a model: its card where it says enough, and what it stores."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from llmcalc.catalog import files
from llmcalc.catalog.checkpoint import Checkpoint
from llmcalc.catalog.shelf import canonical
from llmcalc.errors import InvalidFileError, UnknownNameError
from llmcalc.spec.card import ModelCard

_INDEX = ".safetensors.index.json"
_CHECKPOINTS = (f"model{_INDEX}", "model.safetensors")
"""Names under which a folder holds all tensors of its model, the first that is there."""
_ONE_OF = re.compile(r"-\d+-of-\d+\.safetensors$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What was found out."""

    origin: str
    """The path, or the hub id."""
    card: ModelCard | None = None
    checkpoint: Checkpoint | None = None
    refused: InvalidFileError | None = None
    """Why there is no card."""
    unread: InvalidFileError | None = None
    """Why the checkpoint of a folder was left out."""


def read(path: str) -> Source:
    """The model at `path`: a folder, config.json, .safetensors, its index or .gguf.

    Tensors without a config.json beside them, or with one that is not understood, make no card:
    then `refused` says why. Raises InvalidFileError where not even that much can be read.
    """
    lowered = path.lower()
    if os.path.isdir(path):
        return _folder(path)
    if not os.path.exists(path):
        raise UnknownNameError(f"no file at {path}", hint="check the path, or give a name")
    if lowered.endswith(".gguf"):
        return _gguf(path)
    if lowered.endswith((".safetensors", _INDEX)):
        return _safetensors(path)
    if lowered.endswith(".json"):
        return Source(origin=path, card=config(files.content(path, files.LARGEST_CONFIG), path))
    hint = "give a config.json, a folder holding one, a .safetensors or a .gguf file"
    raise InvalidFileError(f"{path}: there is nothing to import in such a file", hint=hint)


def config(raw: bytes, path: str) -> ModelCard:
    """The card of a config.json, named for its folder, or for itself where it has another name."""
    from llmcalc.catalog.huggingface import (  # noqa: PLC0415  (loads pydantic)
        card_from_config,
        read_config,
    )

    folder, file = os.path.split(os.path.abspath(path))
    name = os.path.basename(folder) if file == "config.json" else os.path.splitext(file)[0]
    return card_from_config(read_config(raw, path), slug(name), path)


def slug(name: str) -> str:
    """A name that a card may have, from any text."""
    clean = re.sub(r"[^a-z0-9._-]+", "-", canonical(name)).strip("-._")[:80]
    return clean or "model"


def _folder(path: str) -> Source:
    """Its config.json, and its checkpoint where all of that is there.

    A folder without tensors, or with pointers of git-lfs in their place, is still a model.
    """
    inside = os.path.join(path, "config.json")
    whole = [os.path.join(path, name) for name in _CHECKPOINTS]
    checkpoint = next((one for one in whole if os.path.exists(one)), None)
    unread = None
    if checkpoint:
        try:
            return _safetensors(checkpoint)
        except InvalidFileError as error:
            if not os.path.isfile(inside):
                raise
            unread = error
    if not os.path.isfile(inside):
        message = f"{path}: the folder holds no config.json"
        raise InvalidFileError(message, hint="give a card, a config.json or its folder")
    card = config(files.content(inside, files.LARGEST_CONFIG), inside)
    return Source(origin=path, card=card, unread=unread)


def _safetensors(path: str) -> Source:
    """Tensors, and the architecture that the config.json beside them says."""
    from llmcalc.catalog.safetensors import read_index, read_safetensors  # noqa: PLC0415

    whole = path.lower().endswith(_INDEX)
    stored = read_index(path) if whole else read_safetensors(path)
    try:
        return Source(origin=path, card=_beside(path, stored), checkpoint=stored)
    except InvalidFileError as error:
        return Source(origin=path, checkpoint=stored, refused=error)


def _beside(path: str, stored: Checkpoint) -> ModelCard:
    """The card of the config.json beside a checkpoint. Raises InvalidFileError where none is."""
    from llmcalc.catalog.stored import with_stored  # noqa: PLC0415  (start-up)

    if _ONE_OF.search(path):
        hint = "give model.safetensors.index.json, which names all, or config.json"
        raise InvalidFileError(f"{path}: this is one file of several", hint=hint)
    inside = os.path.join(os.path.dirname(path), "config.json")
    if not os.path.isfile(inside):
        message = f"{path}: tensors alone do not say the architecture"
        hint = "put the model's config.json beside it; `llmcalc import` prints what it stores"
        raise InvalidFileError(message, hint=hint)
    return with_stored(config(files.content(inside, files.LARGEST_CONFIG), inside), stored)


def _gguf(path: str) -> Source:
    from llmcalc.catalog.gguf import read_gguf  # noqa: PLC0415  (start-up)
    from llmcalc.catalog.gguf_card import card_from_gguf  # noqa: PLC0415
    from llmcalc.catalog.stored import with_stored  # noqa: PLC0415

    file = read_gguf(path)
    name = slug(os.path.splitext(os.path.basename(path))[0])
    try:
        card = with_stored(card_from_gguf(file, name), file.checkpoint)
    except InvalidFileError as error:
        return Source(origin=path, checkpoint=file.checkpoint, refused=error)
    return Source(origin=path, card=card, checkpoint=file.checkpoint)
