"""Composites and latent attention against the real classes: parameters on the meta device.

Skipped where torch and transformers are not installed; they are no dependencies of this project.
"""

from __future__ import annotations

import json
import random
import re
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.huggingface import MODEL_TYPES, card_from_config
from llmcalc.catalog.huggingface.config import class_defaults
from llmcalc.engines.params import count
from llmcalc.errors import InvalidFileError
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, Moe
from llmcalc.spec.pattern import layer_names

if find_spec("torch") is None or find_spec("transformers") is None:
    pytest.skip("needs torch and transformers, which are not installed", allow_module_level=True)

pytestmark = [pytest.mark.witness, pytest.mark.filterwarnings("ignore")]

CONFIGS = Path(__file__).parents[1] / "data" / "models" / "configs"
HERE = ("multimodal", "qwen_vl", "glm_vl", "gemma_n", "gemma4", "latent", "windows")
TYPES = sorted(
    name
    for name in set(MODEL_TYPES) & set(class_defaults()["types"])
    if MODEL_TYPES[name].__module__.endswith(HERE) and name != "gemma3n"  # needs timm
)
VARIANTS = 30

SMALL: dict[str, Any] = {
    "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 6,
    "depth": 3, "num_heads": 4, "vocab_size": 300, "intermediate_size": 96, "head_dim": 16,
    "n_routed_experts": 4, "num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 24, "shared_expert_intermediate_size": 32, "kv_lora_rank": 16,
    "q_lora_rank": 24, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 12,
    "n_group": 1, "topk_group": 1, "intermediate_size_mlp": 56, "sliding_window": 6,
    "image_size": 56, "patch_size": 14, "embed_dim": 64, "out_hidden_size": 64,
    "projection_dim": 64, "alignment_intermediate_size": 40, "num_layers": 3, "moe_topk": 2,
    "zero_expert_num": 2, "ffn_hidden_size": 80, "expert_ffn_hidden_size": 24,
    "index_n_heads": 2, "index_head_dim": 16, "index_topk": 16, "linear_key_head_dim": 8,
    "linear_value_head_dim": 12, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
    "num_position_embeddings": 64, "n_shared_experts": 1, "first_k_dense_replace": 1,
    "vision_output_dim": 48, "projector_input_dim": 40, "projector_output_dim": 40,
    "vocab_size_per_layer_input": 200, "hidden_size_per_layer_input": 8, "laurel_rank": 8,
    "position_embedding_size": 32, "output_proj_dims": 48, "mlp_ratio": 2, "altup_num_inputs": 2,
    "num_kv_shared_layers": 0, "vision_use_head": False,
}  # fmt: skip
"""Sizes of a small model, for the keys that its class knows."""

OWN: dict[str, dict[str, Any]] = {
    "gemma3n_text": {"num_kv_shared_layers": 1, "num_hidden_layers": 6},
}
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 96)
LEFT_ALONE = re.compile(r"token|initializer|eps|dropout|attn_impl|use_cache|output_router|index$")
TEXTS = ("llama", "mistral", "qwen2", "qwen3", "gemma2", "cohere2", "qwen3_moe", "olmo2")
TOWERS = ("siglip_vision_model", "clip_vision_model", "pixtral", "internvl_vision")


def small(model_type: str) -> dict[str, Any]:
    """A small config with the keys that its class knows."""
    facts = class_defaults()["types"][model_type]
    named = {facts["aliases"].get(key, key): value for key, value in SMALL.items()}
    known = {key: value for key, value in named.items() if key in facts["defaults"]}
    return known | {"pad_token_id": 0} | OWN.get(model_type, {})


def change(rng: random.Random, model_type: str, data: dict[str, Any]) -> None:
    """Change one key that the class knows to another value of its kind."""
    defaults = class_defaults()["types"][model_type]["defaults"]
    key = rng.choice([one for one in defaults if not LEFT_ALONE.search(one)])
    match data.get(key, defaults[key]):
        case bool(flag):
            data[key] = not flag
        case int() | None:
            data[key] = rng.choice((*SIZES, None))
        case float():
            data[key] = rng.choice((0.1, 0.25, 0.5, 1.0))
        case list(listed):
            data[key] = [rng.choice(SIZES[:6]) for _ in range(rng.choice((len(listed), 1, 2)))]


def variant(rng: random.Random, model_type: str) -> dict[str, Any]:
    """A small config with some keys changed, inside its parts as well."""
    data = small(model_type) | {"model_type": model_type}
    parts = class_defaults()["types"][model_type].get("parts", {})
    for key, part in parts.items():
        kind = part["type"]
        if not part["fixed"] and rng.random() < 0.5:
            kind = rng.choice(TEXTS if key == "text_config" else TOWERS)
        data[key] = small(kind) | ({} if part["fixed"] else {"model_type": kind})
        for _ in range(rng.randint(0, 2)):
            change(rng, kind, data[key])
    if rng.random() < 0.7:
        data["tie_word_embeddings"] = rng.random() < 0.5
    for _ in range(rng.randint(0, 1 if parts else 2)):
        change(rng, model_type, data)
    return data | {"architectures": [named(model_type, headless=rng.random() < 0.15)]}


def named(model_type: str, *, headless: bool = False) -> str:
    """The class of a model type."""
    from transformers.models.auto import modeling_auto as auto

    whole = class_defaults()["types"][model_type].get("parts")
    table = auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES if whole else (
        auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    )  # fmt: skip
    base = auto.MODEL_MAPPING_NAMES.get(model_type)
    name = base if headless and isinstance(base, str) else table[model_type]
    return str(name)


def learned(data: dict[str, Any]) -> int | None:
    """The parameters of the real class, tied ones once; None where it cannot be built."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        import transformers

        try:
            copied = json.loads(json.dumps(data))
            config = transformers.CONFIG_MAPPING[data["model_type"]].from_dict(copied)
            with torch.device("meta"):
                built = getattr(transformers, data["architectures"][0])._from_config(
                    config, attn_implementation="eager"
                )
        except Exception:  # noqa: BLE001 (any error means that no such model exists)
            return None
    return sum(int(weight.numel()) for weight in built.parameters())


def fault(card: ModelCard, model_type: str) -> int:
    """What transformers 5.24.0 counts too much, less what it leaves out of the published files."""
    layers = [card.blocks[name] for name in layer_names(card.layers)]
    d = card.hidden_size
    if model_type == "longcat_flash":  # rows of weights for experts that have none
        experts = [part for one in layers for part in one.parts if isinstance(part, Moe)]
        return sum(2 * one.zero_experts * one.intermediate_size * d for one in experts)
    idle = [
        part
        for one in layers
        for part in one.parts
        if isinstance(part, Attention) and part.kv_reuse
    ]
    missing = 0
    for one in idle:  # keys, values and the norm of the keys of layers that reuse a cache
        head, kv = one.head_dim or d // one.num_heads, one.num_kv_heads or one.num_heads
        missing += 2 * kv * head * (d + (1 if one.qkv_bias else 0)) + head
    return -missing


@pytest.mark.parametrize("model_type", TYPES)
def test_variants_count_like_their_class(model_type: str) -> None:
    """Every variant is refused or counted to the integer; a known fault of a class is taken out."""
    rng = random.Random(model_type)  # noqa: S311 (the same variants every time)
    agreed = 0
    for _ in range(VARIANTS):
        data = variant(rng, model_type)
        try:
            card = card_from_config(data, "m", "c")
        except InvalidFileError:
            continue
        truth = learned(data)
        if truth is not None:
            assert count(lower(card)).total == truth - fault(card, model_type), data
            agreed += 1
    assert agreed >= VARIANTS // 6


def test_open_models_count_like_their_class() -> None:
    """Every config of the open data whose class exists counts as that class does."""
    checked = 0
    for path in sorted(CONFIGS.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.get("model_type") in TYPES:
            card = card_from_config(data, "m", "c")
            truth = learned({"architectures": [named(data["model_type"])]} | data)
            assert truth is not None, path.stem
            assert count(lower(card)).total == truth - fault(card, data["model_type"]), path.stem
            checked += 1
    assert checked > 35
