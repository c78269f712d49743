"""Worked examples p01 to p08 and d01 to d09: parameters and dimensions."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.find import card
from llmcalc.engines.params import count
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, Mlp
from llmcalc.spec.pattern import layer_names

Worked = dict[str, dict[str, str]]


def _total(name: str) -> int:
    return count(lower(card(name))).total


def _one_block(name: str) -> dict[str, int]:
    """Components of a single layer: embedding, final norm and head apart."""
    model = card(name)
    bare = replace(model, layers=("dense",), final_norm=False, head=False)
    found = count(lower(bare)).components
    return {key: value for key, value in found.items() if value and key != "embedding"}


def test_p01_one_decoder_block_of_llama2_7b(worked: Worked) -> None:
    assert worked["p01"]["note"] == "attention 67108864 + FFN 135266304 + norms 8192"
    block = _one_block("llama2-7b")
    assert block == {"attention": 67_108_864, "mlp": 135_266_304, "norm": 8_192}
    assert sum(block.values()) == int(worked["p01"]["value"])


def test_p02_the_feed_forward_is_two_thirds_of_a_block(worked: Worked) -> None:
    block = _one_block("llama2-7b")
    assert f"{100 * block['mlp'] / sum(block.values()):.1f} %" == worked["p02"]["value"]


@pytest.mark.parametrize(("row", "name"), [("p03", "llama2-7b"), ("p04", "llama2-13b")])
def test_p03_p04_totals(worked: Worked, row: str, name: str) -> None:
    assert _total(name) == int(worked[row]["value"])


def test_p04_one_block_of_llama2_13b(worked: Worked) -> None:
    assert worked["p04"]["note"] == "block 317204480"
    assert sum(_one_block("llama2-13b").values()) == 317_204_480


def test_p05_tying_saves_one_table(worked: Worked) -> None:
    model = card("llama2-7b")
    tied = replace(model, embedding=replace(model.embedding, tied=True))
    assert count(lower(tied)).total == int(worked["p05"]["value"]) == 6_738_415_616 - 32_000 * 4_096


def test_p06_llama2_is_untied_and_p07_gpt3_is_tied(worked: Worked) -> None:
    assert (worked["p06"]["value"], worked["p07"]["value"]) == ("untied", "tied")
    assert not card("llama2-7b").embedding.tied
    gpt3 = card("gpt3-175b")
    assert gpt3.embedding.tied
    d, layers = 12_288, 96
    by_hand = layers * (12 * d * d + 13 * d) + (50_257 + 2_048) * d + 2 * d
    assert _total("gpt3-175b") == by_hand
    assert f"{by_hand / 1e9:.1f} B" == "174.6 B"
    assert "174.6 B" in worked["p07"]["note"]


def test_p08_twelve_d_squared_is_four_percent_off(worked: Worked) -> None:
    rule = 32 * 12 * 4_096**2
    assert rule == int(worked["p08"]["value"])
    assert f"{100 * (_total('llama2-7b') - rule) / _total('llama2-7b'):.1f} %" == "4.4 %"
    assert "4.4 %" in worked["p08"]["note"]


def _dims(model: ModelCard) -> list[int]:
    """Columns d, h, h_kv, d_k, L, d_ff, V and the context of the articles' tables."""
    attention, mlp = next(iter(model.blocks.values())).parts
    assert isinstance(attention, Attention)
    assert isinstance(mlp, Mlp)
    h = attention.num_heads
    return [
        model.hidden_size, h, attention.num_kv_heads or h,
        attention.head_dim or model.hidden_size // h, len(layer_names(model.layers)),
        mlp.intermediate_size, model.vocab_size, model.max_position_embeddings or 0,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "name"),
    [("d01", "llama2-7b"), ("d02", "llama2-13b"), ("d03", "llama2-70b"), ("d04", "gpt3-175b"),
     ("d05", "mistral-7b-v0.2")],
)  # fmt: skip
def test_d01_to_d05_dimension_tables(worked: Worked, row: str, name: str) -> None:
    numbers = [int(number) for number in re.findall(r"\b\d+\b", worked[row]["article_value"])]
    assert _dims(card(name)) == numbers


@pytest.mark.parametrize(
    ("row", "names"),
    [("d06", ("gpt2", "gpt2-xl")), ("d07", ("llama3-8b", "llama3-70b")),
     ("d08", ("qwen2.5-7b", "qwen2.5-32b", "qwen2.5-72b"))],
)  # fmt: skip
def test_d06_to_d08_totals(worked: Worked, row: str, names: tuple[str, ...]) -> None:
    assert [_total(name) for name in names] == [int(n) for n in worked[row]["value"].split(" / ")]


@pytest.mark.parametrize(
    ("name", "layers", "d", "h", "h_kv", "vocab"),
    [("gpt2", 12, 768, 12, 12, 50_257), ("gpt2-xl", 48, 1_600, 25, 25, 50_257),
     ("llama3-8b", 32, 4_096, 32, 8, 128_256), ("llama3-70b", 80, 8_192, 64, 8, 128_256),
     ("qwen2.5-7b", 28, 3_584, 28, 4, 152_064), ("qwen2.5-32b", 64, 5_120, 40, 8, 152_064),
     ("qwen2.5-72b", 80, 8_192, 64, 8, 152_064)],
)  # fmt: skip
def test_d06_to_d08_dimensions(
    name: str, layers: int, d: int, h: int, h_kv: int, vocab: int
) -> None:
    found = _dims(card(name))
    assert (found[4], found[0], found[1], found[2], found[6]) == (layers, d, h, h_kv, vocab)


@pytest.mark.parametrize(
    ("name", "layers", "d", "total_b", "active_b"),
    [("deepseek-v2", 60, 5_120, 236, 21), ("deepseek-v3", 61, 7_168, 671, 37)],
)
def test_d09_deepseek(name: str, layers: int, d: int, total_b: int, active_b: int) -> None:
    model = card(name)
    found = count(lower(model))
    assert (len(layer_names(model.layers)), model.hidden_size) == (layers, d)
    assert round(found.total / 1e9) == total_b
    # The names count the experts a token visits but not its input embedding.
    active = found.active - found.components["embedding"]
    assert round(active / 1e9) == active_b
