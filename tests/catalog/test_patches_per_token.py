"""How many patches become one token: the card, its config, and the width that its projector reads.

Where patches are laid side by side the projector is that many times as wide as the tower; where
they are averaged (Gemma) or dropped (sound of Gemma 3n) only the config tells.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.huggingface import card_from_config, read_config
from llmcalc.catalog.validate import validate
from llmcalc.catalog.write import card_yaml
from llmcalc.catalog.yamlfile import read
from llmcalc.errors import InvalidFileError
from llmcalc.spec.card import ModelCard
from tests.catalog.test_huggingface_composites import (
    CLIP,
    GEMMA3,
    GEMMA4,
    LLAMA,
    MERGED,
    MISTRAL,
    PIXTRAL,
    QWEN,
    ROUTED,
    SIGLIP,
    TEXT,
    UNTIED,
    VIT,
    WIDE,
    of,
    without,
)

ROOT = Path(__file__).parents[2]
FOUR = """glm-4.1v-9b internvl3-1b internvl3-2b internvl3-8b internvl3-14b llama4-scout
llama4-maverick mistral-small-3.1-24b qwen2-vl-2b qwen2-vl-7b qwen2-vl-72b qwen2.5-vl-3b
qwen2.5-vl-7b qwen2.5-vl-32b qwen2.5-vl-72b qwen3-vl-2b qwen3-vl-4b qwen3-vl-8b qwen3-vl-32b
qwen3-vl-30b-a3b qwen3-vl-235b-a22b qwen3.5-27b qwen3.5-35b-a3b qwen3.5-122b-a10b
qwen3.5-397b-a17b""".split()  # noqa: SIM905 (a table)
"""spatial_merge_size 2, downsample_ratio or pixel_shuffle_ratio 0.5: squares of two by two."""

ONE = """llava-1.5-7b llava-1.5-13b llava-1.6-mistral-7b llava-1.6-vicuna-7b paligemma-3b-224
pixtral-12b""".split()  # noqa: SIM905 (a table)

POOLED = {
    # 896 / 14 = 64 patches a side are averaged to 16 tokens a side (mm_tokens_per_image 256)
    "gemma3-4b": {"vision": 16},
    "gemma3-12b": {"vision": 16},
    "gemma3-27b": {"vision": 16},
    # pooling_kernel_size 3; sound as the conformer puts it out
    "gemma4-26b-a4b": {"vision": 9},
    "gemma4-31b": {"vision": 9},
    "gemma4-e2b": {"vision": 9, "audio": 1},
    "gemma4-e4b": {"vision": 9, "audio": 1},
    # every fourth frame is kept (conf_reduction_factor 4); MobileNet has no patches
    "gemma3n-e2b": {"vision": 1, "audio": 4},
    "gemma3n-e4b": {"vision": 1, "audio": 4},
}
FOLDED = {
    **{slug: {"vision": 4} for slug in FOUR},
    **{slug: {"vision": 1} for slug in ONE},
    # scale_factor 4, and 3
    "smolvlm-256m": {"vision": 16},
    "smolvlm2-500m": {"vision": 16},
    "smolvlm2-2.2b": {"vision": 9},
}
PUBLISHED = FOLDED | POOLED

READERS = ("merger.mlp.0", "merger.linear_fc1", "projector.merging_layer",
           "projector.linear_1", "projector.linear", "connector.proj")  # fmt: skip
"""The first matrix behind a tower; the first of these that a card lists."""

SHUFFLED_INSIDE = ("llama4-scout", "llama4-maverick")
"""An adapter inside the tower narrows what the shuffle has put side by side."""


def shipped(slug: str) -> ModelCard:
    path = ROOT / "model_cards" / f"{slug}.yaml"
    return validate(ModelCard, read(path.read_text(encoding="utf-8"), path.name))


def of_config(slug: str) -> ModelCard:
    path = ROOT / "tests" / "data" / "models" / "configs" / f"{slug}.json"
    return card_from_config(read_config(path.read_text(encoding="utf-8"), slug), slug, slug)


def merged(card: ModelCard) -> dict[str, int]:
    return {tower.name: tower.patches_per_token for tower in card.towers}


WITHOUT_CONFIG = {
    "qwen3.8-27b": "qwen3.5-27b", "qwen3.5-4b": "qwen3.5-27b",
    "ministral3-3b": "mistral-small-3.1-24b", "ministral3-3b-reasoning": "mistral-small-3.1-24b",
}  # fmt: skip
"""A card whose config nobody collected, and the model that merges as it does."""

WIDTH_ALONE = {"smolvlm2-2.2b"}
"""Cards whose config nobody collected, and whose projector says it."""


def test_every_card_with_a_tower_is_in_the_table() -> None:
    texts = {
        path: path.read_text(encoding="utf-8") for path in (ROOT / "model_cards").glob("*.yaml")
    }
    towers = {path.stem for path, text in texts.items() if "\ntowers:" in text}
    assert towers - set(WITHOUT_CONFIG) == set(PUBLISHED)
    assert all(merged(shipped(slug)) == merged(shipped(WITHOUT_CONFIG[slug]))
               for slug in WITHOUT_CONFIG)  # fmt: skip


@pytest.mark.parametrize("slug", [slug for slug in PUBLISHED if slug not in WIDTH_ALONE])
def test_card_and_config_say_what_is_published(slug: str) -> None:
    assert merged(shipped(slug)) == PUBLISHED[slug]
    assert merged(of_config(slug)) == PUBLISHED[slug]


@pytest.mark.parametrize("slug", FOLDED)
def test_the_projector_reads_the_patches_side_by_side(slug: str) -> None:
    (tower,) = shipped(slug).towers
    assert tower.stack
    assert tower.stack.hidden_size
    shapes = {one.name: one.shape for one in tower.stack.extra}
    if slug in SHUFFLED_INSIDE:
        _, read = shapes["vision_adapter.fc1.weight"]
    elif "downsample.weight" in shapes:  # a convolution [d_out, d, rows, columns]
        _, _, rows, columns = shapes["downsample.weight"]
        read = tower.stack.hidden_size * rows * columns
    else:
        read = next(shapes[name] for one in READERS if (name := f"{one}.weight") in shapes)[-1]
    assert read == tower.patches_per_token * tower.stack.hidden_size


LARGER = SIGLIP | {"image_size": 224}
POOLED_BY_TWO = without(VIT, "image_size") | {
    "head_dim": 8, "num_key_value_heads": 4, "pooling_kernel_size": 2,
}  # fmt: skip
COHERE = TEXT | {"model_type": "cohere2"}
MADE: list[tuple[str, dict[str, Any], int]] = [
    # 16 patches a side, 4 tokens a side: squares of 4
    ("Gemma 3", of("gemma3", WIDE, LARGER, mm_tokens_per_image=16), 16),
    # 16 patches a side, 5 tokens a side: squares of 3 leave the last row out
    ("Gemma 3, ragged", of("gemma3", WIDE, LARGER, mm_tokens_per_image=25), 9),
    ("Gemma 3 with images of few patches", GEMMA3, 1),
    ("Mistral Small", of("mistral3", MISTRAL, PIXTRAL, spatial_merge_size=3, **UNTIED), 9),
    ("InternVL", of("internvl", QWEN, VIT, downsample_ratio=0.25, **UNTIED), 16),
    ("SmolVLM", of("smolvlm", LLAMA, VIT, scale_factor=3), 9),
    ("Aya Vision", of("aya_vision", COHERE, SIGLIP, downsample_factor=3), 9),
    ("Command A Vision", of("cohere2_vision", COHERE, SIGLIP, downsample_factor=3), 9),
    ("Llama 4", of("llama4", WIDE, VIT | {"pixel_shuffle_ratio": 0.25}), 16),
    ("Qwen2.5-VL", of("qwen2_5_vl", TEXT, MERGED | {"spatial_merge_size": 3}), 9),
    ("Qwen3-VL", of("qwen3_vl", WIDE, MERGED | {"spatial_merge_size": 3}), 9),
    ("GLM-4.1V", of("glm4v", TEXT, MERGED | {"spatial_merge_size": 3}), 9),
    ("GLM-4.5V", of("glm4v_moe", TEXT | ROUTED, MERGED | {"spatial_merge_size": 3}), 9),
    ("Gemma 4", of("gemma4", GEMMA4, POOLED_BY_TWO), 4),
    ("LLaVA", of("llava", LLAMA, CLIP), 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "patches"), [case[1:] for case in MADE], ids=[case[0] for case in MADE]
)
def test_importer_reads_the_key_of_each_class(data: dict[str, Any], patches: int) -> None:
    """Not the default of the class, and kept by a card that is written and read again."""
    card = card_from_config(data, "m", "c")
    assert merged(card) == {"vision": patches}
    assert merged(validate(ModelCard, read(card_yaml(card), "x.yaml"))) == {"vision": patches}


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (GEMMA3 | {"mm_tokens_per_image": 0}, "mm_tokens_per_image"),
        (of("llama4", WIDE, VIT | {"pixel_shuffle_ratio": 2}), "pixel_shuffle_ratio"),
        (of("internvl", QWEN, VIT, downsample_ratio="half", **UNTIED), "downsample_ratio"),
        (of("gemma4", WIDE, VIT | {"pooling_kernel_size": 0}), "pooling_kernel_size"),
    ],
)
def test_merging_that_cannot_be_is_refused(data: dict[str, Any], key: str) -> None:
    with pytest.raises(InvalidFileError) as caught:
        card_from_config(data, "m", "c")
    assert key in caught.value.message


def test_blueprint_passes_it_on_to_the_sections_of_the_tower_alone() -> None:
    ledger = lower(shipped("gemma4-e2b"))
    by_stream = {section.name.partition(".")[0]: section.per_token for section in ledger.sections}
    assert (by_stream["vision"], by_stream["audio"]) == (9, 1)
    assert {one.per_token for one in ledger.sections if one.stream == "text"} == {1}
