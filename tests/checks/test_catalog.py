"""The proof itself: every card that ships, both witnesses, to the integer."""

from __future__ import annotations

import pytest

from llmcalc.api.check import check
from llmcalc.catalog.find import card, cards
from llmcalc.checks.quantities import NAMES

SHARDS = 8
"""Batches of the catalog, so that processes share it and a failure names few cards."""


@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_card_of_the_catalog_passes(shard: int) -> None:
    names = [one.name for one in cards()][shard::SHARDS]
    report = check(names)
    assert len(report.results) == len(names)
    wrong = {one.card: [each for each in one.checks if not each.ok] for one in report.results}
    assert {name: items for name, items in wrong.items() if items} == {}
    assert report.exit_code == 0


def test_a_card_is_compared_in_everything() -> None:
    (found,) = check(["deepseek-v3"]).results
    assert [one.name for one in found.checks] == ["schema", "published", *NAMES, "mtp"]
    assert found.assumptions["batch"] == 2


def test_numbers_that_others_published_are_among_those_compared() -> None:
    """Llama-2-7B has 6,738,415,616 parameters; a token's keys and values take 524,288 bytes."""
    (found,) = check(["llama2-7b"]).results
    got = {one.name: one.got for one in found.checks}
    tokens = found.assumptions["batch"] * found.assumptions["tokens"]
    assert got["params"] == 6_738_415_616
    assert got["memory_bytes"] == 524_288 * tokens
    assert card("llama2-7b").published
