"""A config.json becomes the card of what its class builds: every open model, to the integer."""

from __future__ import annotations

import csv
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.huggingface import MODEL_TYPES, card_from_config, read_config
from llmcalc.catalog.validate import validate
from llmcalc.catalog.yamlfile import read
from llmcalc.engines.params import count
from llmcalc.errors import InvalidFileError
from llmcalc.spec.card import Block, ModelCard
from llmcalc.spec.parts import Attention, LatentAttention, Moe
from llmcalc.spec.pattern import layer_names

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "models"
CARDS = ROOT / "model_cards"


def rows() -> list[dict[str, str]]:
    with (DATA / "truth.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def config(slug: str) -> dict[str, Any]:
    return read_config((DATA / "configs" / f"{slug}.json").read_text(encoding="utf-8"), slug)


def from_config(slug: str) -> ModelCard:
    return card_from_config(config(slug), slug, slug)


def from_file(slug: str) -> ModelCard:
    path = CARDS / f"{slug}.yaml"
    return validate(ModelCard, read(path.read_text(encoding="utf-8"), path.name))


def is_understood(row: dict[str, str]) -> bool:
    return config(row["slug"]).get("model_type") in MODEL_TYPES


UNDERSTOOD = [row for row in rows() if is_understood(row)]
OTHERS = [row for row in rows() if not is_understood(row)]
SURE = [row for row in UNDERSTOOD if row["confidence"] in ("high", "medium")]
COUNTED = [row for row in SURE if row["total_params_exact"]]
PUBLISHED = [
    row
    for row in SURE
    if row["published_total"] and "not itemised" not in row["published_relation"]
]


def by_slug(some: list[dict[str, str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", some, ids=[row["slug"] for row in some])


def test_most_of_the_open_models_are_understood() -> None:
    """The tables below are not empty: at least 200 models are counted, few refused."""
    assert len(COUNTED) >= 200
    assert 0 < len(OTHERS) <= 10
    assert len(PUBLISHED) >= 110


@by_slug(COUNTED)
def test_config_counts_to_the_integer(row: dict[str, str]) -> None:
    """Total and active parameters of the config equal the open data."""
    found = count(lower(from_config(row["slug"])))
    assert found.total == int(row["total_params_exact"])
    if row["active_computed_incl_embed"]:
        assert found.active == int(row["active_computed_incl_embed"])


@by_slug(COUNTED)
def test_card_counts_to_the_integer(row: dict[str, str]) -> None:
    """Total and active parameters of the shipped card equal the open data."""
    found = count(lower(from_file(row["slug"])))
    assert found.total == int(row["total_params_exact"])
    if row["active_computed_incl_embed"]:
        assert found.active == int(row["active_computed_incl_embed"])


WINDOWS = {
    "mistral-nemo-12b": None, "mistral-large-2407": None, "starcoder2-3b": 4096, "phi-3-mini": 2047,
}  # fmt: skip
"""The open data's configs leave the window out; the published ones differ from the class."""


def windowless(card: ModelCard) -> dict[str, Block]:
    """The blocks of a card with full attention."""
    return {
        name: replace(
            block,
            parts=tuple(
                replace(part, window=None) if isinstance(part, Attention) else part
                for part in block.parts
            ),
        )
        for name, block in card.blocks.items()
    }


@by_slug([row for row in SURE if row["slug"] in WINDOWS])
def test_card_has_the_published_window(row: dict[str, str]) -> None:
    """Some cards know the window better than the class's default, and agree otherwise."""
    card, again = from_file(row["slug"]), from_config(row["slug"])
    parts = [part for block in card.blocks.values() for part in block.parts]
    windows = {part.window for part in parts if isinstance(part, Attention)}
    assert windows == {WINDOWS[row["slug"]]}
    assert windowless(card) == windowless(again)


@by_slug([row for row in SURE if row["slug"] not in WINDOWS])
def test_card_has_the_blocks_of_its_config(row: dict[str, str]) -> None:
    """The shipped card describes the architecture that its config does, name for name."""
    card, again = from_file(row["slug"]), from_config(row["slug"])
    assert (card.hidden_size, card.vocab_size) == (again.hidden_size, again.vocab_size)
    assert (card.blocks, card.layers, card.embedding) == (
        again.blocks,
        again.layers,
        again.embedding,
    )


@by_slug(PUBLISHED)
def test_published_count_is_itemised(row: dict[str, str]) -> None:
    """The published count is total + correction biases + MTP + what the card lists as stored."""
    card = from_file(row["slug"])
    found = count(lower(card))
    assert card.published is not None
    assert card.published.params == int(row["published_total"])
    stored = sum(prod(tensor.shape) for tensor in card.stored)
    parts = (found.total, found.buffers, found.mtp, found.mtp_buffers, stored)
    assert sum(parts) == card.published.params


@by_slug(OTHERS)
def test_other_kinds_are_refused_by_name(row: dict[str, str]) -> None:
    """A config of a kind that no card can say is refused with its model_type, never counted."""
    with pytest.raises(InvalidFileError) as error:
        from_config(row["slug"])
    assert str(config(row["slug"])["model_type"]) in error.value.message
    assert error.value.hint


def test_every_card_names_its_schema_and_stands_alone() -> None:
    """Every shipped card starts with its schema, and no name or alias belongs to two cards."""
    taken: dict[str, str] = {}
    for path in sorted(CARDS.glob("*.yaml")):
        assert path.read_text(encoding="utf-8").startswith(
            "# yaml-language-server: $schema=card.schema.json\n"
        )
        card = from_file(path.stem)
        assert card.name == path.stem
        for name in (card.name, *card.aliases):
            assert taken.setdefault(name.lower(), card.name) == card.name
    assert len(taken) > 300


def test_patterns_read_like_the_architecture() -> None:
    """Layer patterns come out as a person would write them."""
    assert from_config("llama2-7b").layers == ("32*dense",)
    assert from_config("deepseek-v3").layers == ("3*dense", "58*moe")
    assert from_config("gemma3-27b-text").layers == ("10*(5*local global)", "2*local")
    assert from_config("gpt-oss-120b").layers == ("18*(local global)",)
    assert from_config("smollm3-3b").layers == ("9*(3*rope nope)",)
    assert from_config("phi-2").layers == ("32*dense",)


def _attention(card: ModelCard, block: str) -> Attention:
    part = card.blocks[block].parts[0]
    assert isinstance(part, Attention)
    return part


def _changed(slug: str, **keys: Any) -> ModelCard:
    return card_from_config(config(slug) | keys, slug, slug)


def test_null_window_is_not_the_default_window() -> None:
    """Mistral's class defaults to a window of 4096; null means none, absence means the default."""
    assert _attention(from_config("mistral-7b-v0.1"), "dense").window == 4096
    assert _attention(from_config("mistral-7b-v0.3"), "dense").window is None
    unsaid = {k: v for k, v in config("mistral-7b-v0.3").items() if k != "sliding_window"}
    assert _attention(card_from_config(unsaid, "m", "m"), "dense").window == 4096


def test_qwen2_slides_from_max_window_layers_on() -> None:
    """Sliding starts at max_window_layers, and only where use_sliding_window says so."""
    card = _changed("qwen2-7b", use_sliding_window=True, sliding_window=4096, max_window_layers=20)
    assert card.layers == ("20*global", "8*local")
    assert _attention(card, "local").window == 4096
    assert from_config("qwen2-7b").layers == ("28*dense",)


def test_partial_rotation_reaches_the_card() -> None:
    """rotary_pct and partial_rotary_factor give the rotating part of a head, class defaults too."""
    assert _attention(from_config("pythia-70m"), "dense").rotary_dim == 16
    assert _attention(from_config("phi-2"), "dense").rotary_dim == 32
    unsaid = {k: v for k, v in config("glm-4-9b").items() if k != "partial_rotary_factor"}
    assert _attention(card_from_config(unsaid, "g", "g"), "dense").rotary_dim == 64


def test_sparse_layers_follow_the_class() -> None:
    """decoder_sparse_step and mlp_only_layers choose the layers with experts as the class does."""
    card = _changed("qwen3-30b-a3b", decoder_sparse_step=2, mlp_only_layers=[1])
    assert layer_names(card.layers) == (*["dense"] * 3, "moe", *["dense", "moe"] * 22)


def test_mtp_needs_to_be_said() -> None:
    """MTP heads are reported where the file announces them, and not by the class default."""
    assert from_config("deepseek-v3").mtp is not None
    assert from_config("kimi-k2").mtp is None


def test_latent_attention_without_query_rank() -> None:
    """q_lora_rank null means one full query matrix, as in DeepSeek-V2-Lite."""
    part = from_config("deepseek-v2-lite").blocks["dense"].parts[0]
    assert isinstance(part, LatentAttention)
    assert part.q_lora_rank is None


def test_quantised_config_counts_the_same() -> None:
    """quantization_config changes the bytes and not the architecture; the card says so."""
    card = _changed("llama2-7b", quantization_config={"quant_method": "gptq", "bits": 4})
    assert card.blocks == from_config("llama2-7b").blocks
    assert "quantised" in (card.notes or "")


def test_groups_that_routing_keeps_to_are_read() -> None:
    """DeepSeek-V3 deals 256 experts into 8 groups, a token's into 4; GLM has one group."""
    assert [(one.n_group, one.topk_group) for one in _experts("deepseek-v3")] == [(8, 4)]
    assert [(one.n_group, one.topk_group) for one in _experts("glm-4.5")] == [(1, 1)]


def _experts(name: str) -> list[Moe]:
    blocks = from_config(name).blocks.values()
    return [part for block in blocks for part in block.parts if isinstance(part, Moe)]
