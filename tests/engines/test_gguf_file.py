"""A real GGUF file: every tensor of our card has its type and its bytes, and no other is there."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from llmcalc.blueprint import lower
from llmcalc.catalog.data import quantization
from llmcalc.catalog.find import card
from llmcalc.engines.weights import by_group, by_tensor

FILE = Path(__file__).parent.parent / "data" / "quantization" / "gemma3-270m-q4_k_m.tsv"
SIZE, HEADER = 253_113_024, 6_525_120
"""Bytes of the file, and of what stands before its tensors."""


def _stored() -> list[dict[str, str]]:
    with FILE.open(encoding="utf-8") as file:
        rows = (line for line in file if not line.startswith("#"))
        return list(csv.DictReader(rows, delimiter="\t"))


def test_the_tensors_of_the_file_are_those_of_the_card() -> None:
    held = by_group(lower(card("gemma3-270m")), quantization("Q4_K - Medium"))
    assert sum(held.values()) == sum(int(row["bytes"]) for row in _stored()) == SIZE - HEADER


def test_each_matrix_has_its_type_in_each_layer() -> None:
    found = {}
    for one in by_tensor(lower(card("gemma3-270m")), quantization("q4_k_m")):
        for layer in one.layers:
            name = f"blk.{layer}.{one.name}.weight" if one.in_layers else f"{one.name}.weight"
            found[name] = (one.format.name.upper(), one.bytes // one.times)
    matrices = {
        row["tensor"]: (row["type"], int(row["bytes"]))
        for row in _stored() if row["type"] != "F32"
    }  # fmt: skip
    assert {name: kind for name, kind in found.items() if kind[0] != "F32"} == matrices


def test_vectors_are_float32_in_the_file_and_here() -> None:
    """Our names of norms are not the file's: their sizes are compared."""
    found: Counter[int] = Counter()
    for one in by_tensor(lower(card("gemma3-270m")), quantization("q4_k_m")):
        if one.format.name == "f32":
            found[one.bytes // one.times] += one.times
    assert found == Counter(int(row["bytes"]) for row in _stored() if row["type"] == "F32")


def test_every_tensor_starts_at_a_multiple_of_32() -> None:
    """Tensors fill whole multiples here, so that nothing stands between them."""
    at = 0
    for row in _stored():
        assert int(row["offset"]) == at
        at += -(-int(row["bytes"]) // 32) * 32
    assert at == SIZE - HEADER
