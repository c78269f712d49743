"""Cards written as config.json, read back by the importer: needs neither torch nor transformers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.find import card, cards
from llmcalc.catalog.huggingface import card_from_config
from llmcalc.catalog.huggingface.config import class_defaults
from llmcalc.checks.hf_config import NotExpressibleError, hf_config, why_no_class
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


SAID_OTHERWISE = {
    ("ernie-4.5-300b-a47b", "moe_layer_end_index"): "the last layer by its number, or -1",
    ("falcon-h1-0.5b", "mamba_expand"): "mamba_d_ssm comes first",
    ("falcon-h1-34b", "mamba_expand"): "mamba_d_ssm comes first",
    ("falcon-h1-tiny-90m", "mamba_expand"): "mamba_d_ssm comes first",
    ("mimo-v2-flash", "sliding_window"): "the released file counts without the token itself",
}
"""Keys that the public file of a model writes differently, and why that means the same."""
APART = {"pad_token_id", "max_position_embeddings"}
"""Keys that no shape depends on here; contexts differ between public copies of one config."""


def differing(mine: dict[str, Any], public: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Each size or flag that both say, and whether they say the same."""
    aliases = class_defaults()["types"].get(mine.get("model_type"), {}).get("aliases", {})
    theirs = {aliases.get(key, key): value for key, value in public.items()}
    for key, value in mine.items():
        other = theirs.get(aliases.get(key, key))
        if isinstance(value, dict) and isinstance(other, dict):
            yield from differing(value, other)
        elif type(value) in (int, bool) and other is not None and key not in APART:
            yield key, other in (value, [value, value])


@pytest.mark.parametrize("name", [one for one in NAMES if (CONFIGS / f"{one}.json").exists()])
def test_sizes_are_those_of_the_public_config(name: str) -> None:
    """Every size and flag that a public config of the model says, the written one says too.

    A public config that leaves out what its class has as a default may say nothing to compare.
    """
    public = json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8"))
    if why_no_class(name):
        pytest.skip("transformers has no class, so that no config can be written")
    told = list(differing(hf_config(card(name)), public))
    wrong = {(name, key) for key, same in told if not same}
    assert wrong == {one for one in SAID_OTHERWISE if one[0] == name}


def test_public_configs_say_much() -> None:
    """The comparison above is over thousands of sizes, not over what two files happen to share."""
    total = 0
    for path in CONFIGS.glob("*.json"):
        if path.stem in NAMES and not why_no_class(path.stem):
            public = json.loads(path.read_text(encoding="utf-8"))
            total += len(list(differing(hf_config(card(path.stem)), public)))
    assert total > 2500


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
