"""Sizes of published GGUF files of many types: dense, experts and latent attention."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.data import quantization
from llmcalc.catalog.find import card
from llmcalc.engines.weights import by_group

TABLE = Path(__file__).parent.parent / "data" / "quantization" / "published_sizes.tsv"
TOKENIZER = 8e6
"""Bytes of the vocabulary and merges of Llama 3 in a file, about."""


def _rows() -> list[tuple[str, str, float]]:
    with TABLE.open(encoding="utf-8") as file:
        rows = csv.DictReader((x for x in file if not x.startswith("#")), delimiter="\t")
        return [(row["model"], row["ftype"], float(row["gb"])) for row in rows]


@pytest.mark.parametrize(("model", "ftype", "gb"), _rows())
def test_a_published_file_has_the_size_of_its_policy(model: str, ftype: str, gb: float) -> None:
    held = sum(by_group(lower(card(model)), quantization(ftype)).values())
    assert held + TOKENIZER == pytest.approx(gb * 1e9, rel=0.0005, abs=0.01e9)
