"""`params`: the published file item by item, and sizes by format."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmcalc.api.params import ParamsResult, params
from llmcalc.catalog.find import card
from llmcalc.spec.card import Published
from llmcalc.spec.parts import Mlp
from tests.strategies import small_card


def _result(name: str) -> ParamsResult:
    (found,) = params([card(name)]).results
    assert isinstance(found, ParamsResult)
    return found


def test_the_file_of_deepseek_v3_is_explained_to_the_last_number() -> None:
    """684,489,845,504 = 671,026,404,352 + 58 · 256 router biases + 13,463,426,304 of prediction."""
    found = _result("deepseek-v3")
    assert found.total == 671_026_404_352
    assert found.mtp == 13_463_426_304
    assert found.stored is not None
    assert {item.name: item.params for item in found.stored.items} == {
        "parameters": 671_026_404_352,
        "router correction biases": 58 * 256,
        "multi-token prediction": 13_463_426_304,
    }
    assert found.stored.total == found.published.value == 684_489_845_504  # type: ignore[union-attr]


def test_the_file_of_llama2_13b_holds_rotary_frequencies() -> None:
    found = _result("llama2-13b")
    assert found.stored is not None
    assert [item.params for item in found.stored.items] == [13_015_864_320, 40 * 64]


def test_what_nothing_explains_is_an_item_of_its_own() -> None:
    model = small_card(Mlp(intermediate_size=6))
    odd = Published(params=230, relation="unknown", source="by hand")
    (found,) = params([replace(model, published=odd)]).results
    items = {item.name: item.params for item in found.stored.items}
    assert items == {"parameters": 224, "unexplained": 6}


def test_bytes_are_nominal_and_rounded_up() -> None:
    (found,) = params([small_card(Mlp(intermediate_size=1, gated=False), d=1, vocab=1)]).results
    assert found.total == 3
    assert found.bytes == {"fp32": 12, "bf16": 6, "fp8": 3, "int8": 3, "int4": 2}


def test_several_models_stand_side_by_side_in_the_order_asked() -> None:
    report = params([card("llama2-7b"), card("gpt2")])
    assert [one.model for one in report.results] == ["llama2-7b", "gpt2"]
    assert len(report.tables) == 1
    assert [one.tied_embeddings for one in report.results] == [False, True]


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("gpt2", 124_439_808),
        ("qwen1.5-moe-a2.7b", 14_315_784_192),
        ("gemma3-27b-text", 27_009_346_304),
    ],
)
def test_components_sum_to_a_published_total(name: str, total: int) -> None:
    found = _result(name)
    parts = (
        found.embedding, found.attention, found.mlp, found.experts, found.shared_expert,
        found.router, found.ssm, found.norm, found.lm_head, found.vision, found.other,
    )  # fmt: skip
    assert sum(parts) == found.total == total
