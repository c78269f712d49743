"""A kind of part is whole when it is lowered, kept, rebuilt by the twin, and used by a card."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import pytest

from llmcalc.blueprint.keeping.block import KEEPING
from llmcalc.blueprint.kinds import LOWERINGS
from llmcalc.catalog.find import cards
from llmcalc.spec.card import Block, ModelCard
from llmcalc.spec.parts import PARTS
from llmcalc.twin.kinds import TWINS
from tests.checks.parts import PARTS as MUTATED

UNUSED: dict[str, str] = {}
"""Kinds that no card of the catalog has, each with the reason."""


def _word(kind: type) -> str:
    """What a card calls a kind."""
    return next(str(field.default) for field in fields(kind) if field.name == "kind")


def _blocks(one: ModelCard) -> Iterator[Block]:
    yield from one.blocks.values()
    for stack in (one.encoder, *(tower.stack for tower in one.towers)):
        yield from stack.blocks.values() if stack else ()


@pytest.fixture(scope="module")
def used() -> set[str]:
    """Kinds that the catalog's cards have."""
    return {part.kind for one in cards() for block in _blocks(one) for part in block.parts}


@pytest.mark.parametrize("kind", PARTS, ids=lambda kind: kind.__name__)
def test_every_kind_is_lowered_kept_rebuilt_and_mutated(kind: type) -> None:
    for table in (LOWERINGS, KEEPING, TWINS, MUTATED):
        assert kind in table


@pytest.mark.parametrize("kind", [_word(kind) for kind in PARTS])
def test_every_kind_has_a_card_or_a_reason_why_not(kind: str, used: set[str]) -> None:
    assert (kind in used) != (kind in UNUSED)
    assert UNUSED.get(kind, "reason")


def test_no_table_knows_a_kind_that_no_card_can_say() -> None:
    assert set(LOWERINGS) == set(KEEPING) == set(TWINS) == set(MUTATED) == set(PARTS)


def test_the_catalog_shows_what_stands_beside_the_layers() -> None:
    """An encoder-decoder, an encoder alone, towers, prediction heads and reused caches."""
    found = cards()
    assert any(one.encoder for one in found)
    assert any(not one.causal for one in found)
    assert any(tower.stack for one in found for tower in one.towers)
    assert any(one.mtp for one in found)
