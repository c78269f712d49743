"""A model of the Hugging Face hub: its config.json and the headers of its tensors, nothing else.

No code of a repository is ever fetched or run. The network is reached only from here, and this
module is asked only where a user said --online.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from llmcalc.catalog import files
from llmcalc.catalog.checkpoint import Checkpoint
from llmcalc.catalog.safetensors import described
from llmcalc.catalog.source import Source, config, slug
from llmcalc.catalog.stored import with_stored
from llmcalc.errors import InvalidFileError, LlmcalcError, MissingExtraError, UnknownNameError

T = TypeVar("T")
_LONGEST = 200


def fetch(name: str) -> Source:
    """The model of the hub id `org/name`.

    Raises MissingExtraError without huggingface_hub, UnknownNameError where the hub cannot be
    reached or has no such model, InvalidFileError for a config that is not understood.
    """
    hub = _package()
    path = _asked(name, lambda: hub.hf_hub_download(repo_id=name, filename="config.json"))
    stored = _checkpoint(hub, name)
    raw = files.content(path, files.LARGEST_CONFIG)
    try:
        card = config(raw, f"{slug(name.split('/')[1])}.json")
    except InvalidFileError as error:
        if stored is None:
            raise
        return Source(origin=name, checkpoint=stored, refused=error)
    card = replace(card, aliases=(name,))
    known = with_stored(card, stored) if stored else card
    return Source(origin=name, card=known, checkpoint=stored)


def _package() -> Any:
    """huggingface_hub, or the error that names the extra."""
    try:
        import huggingface_hub  # noqa: PLC0415  (an extra)
    except ImportError:
        hint = "pip install 'llmcalc-proof[hub]', or download config.json and give its path"
        raise MissingExtraError("a hub id needs huggingface_hub", hint=hint) from None
    return huggingface_hub


def _checkpoint(hub: Any, name: str) -> Checkpoint | None:
    """What the model's .safetensors files store; None where it has none."""
    found = _asked(name, lambda: _metadata(hub, name))
    if found is None:
        return None
    tensors = [
        described(tensor, one.dtype, one.shape, one.data_offsets, name)
        for file in found.files_metadata.values()
        for tensor, one in file.tensors.items()
    ]
    return Checkpoint(origin=name, format="safetensors", tensors=tuple(tensors))


def _metadata(hub: Any, name: str) -> Any:
    from huggingface_hub.errors import NotASafetensorsRepoError  # noqa: PLC0415  (an extra)

    try:
        return hub.get_safetensors_metadata(name)
    except NotASafetensorsRepoError:
        return None


def _asked(name: str, question: Callable[[], T]) -> T:
    """The hub's answer; whatever it raises becomes one line."""
    try:
        return question()
    except LlmcalcError:
        raise
    except Exception as error:  # noqa: BLE001  (its errors come from several network libraries)
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = (lines[0] if lines else type(error).__name__)[:_LONGEST]
        hint = "check the name, the network and HF_HUB_OFFLINE, or give its config.json"
        raise UnknownNameError(f"{name} cannot be read from the hub: {reason}", hint=hint) from None
