"""Cards written as config.json, read back by the importer: needs neither torch nor transformers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.find import card, cards
from llmcalc.catalog.huggingface import card_from_config
from llmcalc.checks.hf_config import NotExpressibleError, hf_config
from llmcalc.checks.hf_config.model_types import NO_CLASS
from llmcalc.engines.params import count

CONFIGS = Path(__file__).parents[1] / "data" / "models" / "configs"
NAMES = [one.name for one in cards()]


@pytest.mark.parametrize("name", NAMES)
def test_the_importer_reads_a_written_config_as_the_same_model(name: str) -> None:
    """A card, written and read, has the same parameters; or the table says why it has no class."""
    one = card(name)
    try:
        keys = json.loads(json.dumps(hf_config(one)))
    except NotExpressibleError as reason:
        assert str(reason) in NO_CLASS.values()
        return
    before, after = count(lower(one)), count(lower(card_from_config(keys, "m", "c")))
    assert (after.total, after.active) == (before.total, before.active)


def test_sizes_are_those_of_the_published_config() -> None:
    """What the public config says, the written one says too; contexts are disputed at times."""
    compared = 0
    for name in ("llama2-7b", "qwen3-8b", "deepseek-v3", "gpt-oss-120b", "mamba2-130m", "t5-base"):
        path = CONFIGS / f"{name}.json"
        if not path.exists():
            continue
        public = json.loads(path.read_text(encoding="utf-8"))
        for key, value in hf_config(card(name)).items():
            sized = type(value) is int and key != "max_position_embeddings"
            if sized and key in public and public[key] is not None:
                assert public[key] == value, (name, key)
                compared += 1
    assert compared > 30


def test_a_family_without_a_mapping_is_told() -> None:
    """A card of a family that no table names has no config, with the reason."""
    stranger = replace(card("gpt2"), name="stranger", family="strange")
    with pytest.raises(NotExpressibleError, match="the family strange is not mapped"):
        hf_config(stranger)


def test_what_a_config_cannot_say_is_told() -> None:
    """Bloom's feed-forward part is four times as wide, whatever a card says."""
    bloom = card("bloom-560m")
    (name, block), *_ = bloom.blocks.items()
    parts = tuple(
        replace(part, intermediate_size=5) if part.kind == "mlp" else part for part in block.parts
    )
    odd = replace(bloom, blocks={name: replace(block, parts=parts)})
    with pytest.raises(NotExpressibleError, match="not four times as wide"):
        hf_config(odd)
