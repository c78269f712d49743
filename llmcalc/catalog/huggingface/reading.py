"""Bytes or text of a config.json to a mapping, refusing what no config is."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.jsonfile import mapping

LARGEST = 4 * 2**20
_HINT = "give the config.json of a Hugging Face model, unchanged"


def read_config(raw: bytes | str, origin: str) -> dict[str, Any]:
    """The mapping that `raw` holds. Raises InvalidFileError as `jsonfile.mapping` does."""
    return mapping(raw, origin, hint=_HINT, largest=LARGEST)
