"""docs/families.md says what the engines say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from llmcalc.api.flops import flops
from llmcalc.blueprint import lower
from llmcalc.catalog.find import card
from llmcalc.engines import kv
from llmcalc.engines.params import count

PAGE = (Path(__file__).parents[2] / "docs" / "families.md").read_text(encoding="utf-8")
PROSE, _, TABLE = PAGE.partition("## Figures")
ROWS = [
    (model.strip(), name.strip(), int(value.replace(",", "")))
    for model, name, value in re.findall(
        r"^\| ([\w.-]+) \| ([\w ]+) \| ([\d,]+) \|$", TABLE, re.MULTILINE
    )
]
FAR = 8192
"""Tokens of context of the decode figures."""


def figure(model: str, name: str) -> int:
    """One figure of a model by the name that the page gives it."""
    one = card(model)
    if name.startswith("decode"):
        found = flops(one, phase="decode", context=FAR).results[0]
        return int(found.attention if "attention" in name else found.matmul)
    counted, held = count(lower(one)), kv.profile(lower(one))
    return {
        "parameters": counted.total,
        "active parameters": counted.active,
        "embedding parameters": counted.components["embedding"],
        "vision parameters": counted.components["vision"],
        "prediction heads": counted.mtp,
        "KV bytes a token": held.bytes_per_token,
        "KV bytes beyond windows": held.bytes_per_token_beyond_windows,
        "state bytes": held.state_bytes,
    }[name]


@pytest.mark.parametrize(("model", "name", "value"), ROWS)
def test_figures_are_what_the_engines_say(model: str, name: str, value: int) -> None:
    """Each line of the table, computed again from the card."""
    assert figure(model, name) == value


def test_every_long_number_of_the_text_stands_in_the_table() -> None:
    """A number of five digits or more in a paragraph is one that the table proves."""
    told = {int(one.replace(",", "")) for one in re.findall(r"\d{1,3}(?:,\d{3})+|\d{5,}", PROSE)}
    long = {one for one in told if one >= 10_000}
    assert len(ROWS) == len({row[:2] for row in ROWS}) == TABLE.count("\n| ") - 2
    assert len(long) > 50
    assert long <= {value for *_, value in ROWS}


def test_hand_calculations() -> None:
    """Three figures by hand: heads times sizes times layers times two bytes."""
    by_hand = {
        ("llama3-8b", "KV bytes a token"): 32 * 2 * 8 * 128 * 2,
        ("deepseek-v3", "KV bytes a token"): 61 * (512 + 64) * 2,
        ("whisper-large-v3", "state bytes"): 32 * 2 * 1500 * 1280 * 2,
        ("rwkv4-7b", "state bytes"): 32 * 5 * 4096 * 2,
        ("deepseek-v3", "decode attention FLOP"): 61 * 128 * 2 * (576 + 512) * 8192,
    }
    assert by_hand.items() <= {row[:2]: row[2] for row in ROWS}.items()
