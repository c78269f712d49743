"""The shipped cards and specs are all valid, and no two share a name or an alias."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from llmcalc.catalog import find
from llmcalc.catalog.shelf import canonical
from llmcalc.errors import InvalidFileError
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec

ROOT = Path(__file__).resolve().parents[2]


def problems(error: InvalidFileError) -> str:
    return "\n".join(one.message for one in error.problems)


def test_every_shipped_card_is_valid() -> None:
    heard: list[InvalidFileError] = []
    cards = find.cards(heard.append)
    assert not heard, "\n".join(map(problems, heard))
    assert {card.name for card in cards} == {p.stem for p in (ROOT / "model_cards").glob("*.yaml")}


def test_every_shipped_spec_is_valid() -> None:
    heard: list[InvalidFileError] = []
    specs = find.gpus(heard.append)
    assert not heard, "\n".join(map(problems, heard))
    assert {spec.name for spec in specs} == {p.stem for p in (ROOT / "gpu_specs").glob("*.yaml")}


@pytest.mark.parametrize("all_of", [find.cards, find.gpus])
def test_no_name_or_alias_means_two_things(
    all_of: Callable[[], tuple[ModelCard | GpuSpec, ...]],
) -> None:
    found = Counter(
        name for one in all_of() for name in {canonical(n) for n in (one.name, *one.aliases)}
    )
    assert [name for name, times in found.items() if times > 1] == []
