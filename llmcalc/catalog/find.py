"""From what a user types to a card or a spec: a name, an alias, a path, or `-` for stdin."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from llmcalc.catalog import files
from llmcalc.catalog.card_shelf import CARDS
from llmcalc.catalog.shelf import OnProblem, Shelf, T, canonical, ignore
from llmcalc.catalog.suggest import nearest
from llmcalc.catalog.wording import word
from llmcalc.errors import InvalidFileError, LlmcalcError, UnknownNameError
from llmcalc.spec.card import ModelCard

if TYPE_CHECKING:
    from llmcalc.catalog.source import Source
    from llmcalc.spec.gpu import GpuSpec

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def card(name: str, *, online: bool = False) -> ModelCard:
    """The model of that name, alias or path (a card, a config.json, its folder, a checkpoint).

    `-` is a card on stdin; `online` admits a hub id, which is the only way to the network.
    Raises UnknownNameError where there is none, InvalidFileError where the file says nothing valid.
    """
    if name == "-":
        return _stdin(CARDS)
    if files.is_path(name):
        return _card_file(os.path.expanduser(name))
    found = CARDS.find(name)
    if found is not None:
        return found
    if os.path.exists(name):
        return _card_file(name)
    if online and is_hub_id(name):
        from llmcalc.catalog import hub  # noqa: PLC0415  (only where it is asked for)

        return _made(hub.fetch(name))
    raise _unknown(CARDS, name)


def is_hub_id(name: str) -> bool:
    """Whether a name can be one of the Hugging Face hub, as `org/name`."""
    return _HUB_ID.fullmatch(name) is not None


def gpu(name: str) -> GpuSpec:
    """The GPU of that name, alias or spec path, or from stdin (`-`), or a saved measurement.

    Raises as `card`.
    """
    from llmcalc.catalog.gpu_shelf import GPUS  # noqa: PLC0415  (questions about models need none)

    if name == "-":
        return _stdin(GPUS)
    if files.is_path(name):
        return _yaml_file(GPUS, os.path.expanduser(name))
    found = GPUS.find(name)
    if found is not None:
        return found
    if os.path.isfile(name):
        return _yaml_file(GPUS, name)
    from llmcalc.catalog import measured_gpu, measurement  # noqa: PLC0415  (rarely asked for)

    if measured := measurement.find(name):
        return measured_gpu.spec_of(measured)
    raise _unknown(GPUS, name)


def cards(on_problem: OnProblem = ignore) -> tuple[ModelCard, ...]:
    """Every model of the catalog, by name; `on_problem` hears of files that cannot be used."""
    return CARDS.all(on_problem)


def gpus(on_problem: OnProblem = ignore) -> tuple[GpuSpec, ...]:
    """Every GPU of the catalog, by name; `on_problem` hears of files that cannot be used."""
    from llmcalc.catalog.gpu_shelf import GPUS  # noqa: PLC0415  (questions about models need none)

    return GPUS.all(on_problem)


def card_names() -> tuple[str, ...]:
    """Every name and alias of a model."""
    return CARDS.names()


def gpu_names() -> tuple[str, ...]:
    """Every name and alias of a GPU."""
    from llmcalc.catalog.gpu_shelf import GPUS  # noqa: PLC0415  (questions about models need none)

    return GPUS.names()


def _stdin(shelf: Shelf[T]) -> T:
    return shelf.cache.value(files.stdin(), files.STDIN)


def _yaml_file(shelf: Shelf[T], path: str) -> T:
    try:
        return shelf.cache.value(files.content(path), path)
    finally:
        shelf.cache.save()


def _card_file(path: str) -> ModelCard:
    suffix = os.path.splitext(path)[1].lower()
    if not os.path.exists(path):
        raise UnknownNameError(f"no file at {path}", hint="check the path, or give a name")
    if os.path.isdir(path) or suffix in {".json", ".gguf", ".safetensors"}:
        from llmcalc.catalog import source  # noqa: PLC0415  (start-up)

        return _made(source.read(path))
    return _yaml_file(CARDS, path)


def _made(source: Source) -> ModelCard:
    """The card of a source; raises why there is none."""
    if source.card is None:
        raise source.refused or InvalidFileError(f"{source.origin}: there is no card in it")
    return source.card


def _unknown(shelf: Shelf[T], name: str) -> LlmcalcError:
    """The error for a name that nothing has."""
    known = {canonical(one): one for one in shelf.names()}
    best = nearest(canonical(name)[:100], known)
    if best:
        hint = f"did you mean {known[best]}?"
    elif shelf is CARDS and _HUB_ID.fullmatch(name):
        hint = "`llmcalc import ID --online` reads it from the hub; or give its config.json"
    else:
        hint = f"`llmcalc {shelf.word.lower()}s` lists all names; a path ends in .yaml"
    return UnknownNameError(f"no {shelf.word} named {word(name)}", hint=hint)
