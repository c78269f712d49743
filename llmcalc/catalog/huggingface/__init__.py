"""A card from a Hugging Face config.json: what the class of its model_type builds, or a refusal."""

from __future__ import annotations

import re
from typing import Any

from llmcalc.catalog.huggingface import (
    classic,
    deepseek,
    dense,
    disentangled,
    encoders,
    gemma4,
    gemma_n,
    glm_vl,
    hybrid,
    kimi_linear,
    latent,
    linear,
    mixed,
    moe,
    multimodal,
    nemotron_h,
    qwen_vl,
    recurrent,
    seq2seq,
    translation,
    windows,
)
from llmcalc.catalog.huggingface.classes import named_class
from llmcalc.catalog.huggingface.config import Config, class_defaults
from llmcalc.catalog.huggingface.families import FAMILIES, LATER
from llmcalc.catalog.huggingface.reading import read_config
from llmcalc.catalog.suggest import nearest
from llmcalc.catalog.validate import validate_data
from llmcalc.errors import InvalidFileError
from llmcalc.spec.card import ModelCard

__all__ = ["MODEL_TYPES", "card_from_config", "read_config"]

_HYPHENS = {
    "grok_1": "grok-1", "nemotron_nas": "nemotron-nas", "xlm_roberta": "xlm-roberta",
    "deberta_v2": "deberta-v2", "blenderbot_small": "blenderbot-small",
}  # fmt: skip
_DECODERS = (dense, moe, classic, deepseek, latent, windows, mixed)
_RECURRENT = (recurrent, hybrid, nemotron_h, linear, kimi_linear)
_COMPOSITE = (multimodal, qwen_vl, glm_vl, gemma_n, gemma4)
_OF_A_CLASS = (encoders, disentangled, seq2seq, translation)
"""Modules whose mappings read `architectures` themselves, since the count depends on the class."""

MODEL_TYPES = {
    _HYPHENS.get(name, name): mapping
    for module in (*_DECODERS, *_RECURRENT, *_COMPOSITE, *_OF_A_CLASS)
    for name, mapping in vars(module).items()
    if _HYPHENS.get(name, name) in FAMILIES
}
"""The mapping of every model_type that is understood."""

_NAMES_ITS_CLASS = {module.__name__ for module in _OF_A_CLASS}
_HEAD = ("head_bias", "embedding", "mtp")
_UNCOUNTED = ("glm4_moe", "glm4_moe_lite")
"""Types of which releases differ in what their layers for further tokens hold."""

SHOWN = 8
"""Keys that one error names."""


def card_from_config(data: dict[str, Any], name: str, origin: str) -> ModelCard:
    """The card of the causal language model that `data`, a parsed config.json, describes.

    A key that a config leaves out has the default of its class. Raises InvalidFileError for a
    model_type that is not understood and for a key that might change the architecture in a way
    that is not.
    """
    mapping = MODEL_TYPES[_model_type(data, origin)]
    c = Config(data, origin)
    head = mapping.__module__ in _NAMES_ITS_CLASS or _head(c)
    architecture = mapping(c) if head else _without_head(c, mapping(c))
    _refuse_leftovers(c)
    return validate_data(ModelCard, _heading(c, name) | architecture, origin)


def _model_type(data: dict[str, Any], origin: str) -> str:
    model_type = data.get("model_type")
    if not isinstance(model_type, str) or not model_type:
        what = "is missing" if model_type is None else "is no name"
        hint = 'a config.json says what it is, as "model_type": "llama"'
        raise InvalidFileError(f"{origin}: model_type {what}", hint=hint)
    if model_type in MODEL_TYPES:
        return model_type
    shown = f"{origin}: model_type {model_type:.60} is not understood"
    if isinstance(data.get("text_config"), dict) or model_type in LATER:
        why = LATER.get(model_type, "models with images or sound")
        hint = "write a card by hand, or wait for the next release"
        raise InvalidFileError(f"{shown} yet: {why}", hint=hint)
    best = nearest(model_type[:60], MODEL_TYPES)
    hint = f"did you mean {best}?" if best else f"understood are {', '.join(sorted(MODEL_TYPES))}"
    raise InvalidFileError(shown, hint=hint)


def _head(c: Config) -> bool:
    """Whether the class that the file names has a language-model head."""
    name, whole = named_class(c), c.has_parts
    ends = ("ForConditionalGeneration",) if whole else ("ForCausalLM", "LMHeadModel")
    if not name or name.endswith(ends):
        return True
    if name.endswith("Model"):
        return False
    hint = f"only language models are: a class that ends in {ends[0]} or Model"
    raise c.bad(f"the class {name:.60} is not understood", hint)


def _without_head(c: Config, architecture: dict[str, Any]) -> dict[str, Any]:
    """The architecture of a class that ends with the last norm."""
    if "dim" in (architecture.get("embedding") or {}):
        hint = "its class keeps the matrix that leads to the head: write a card by hand"
        raise c.bad("word_embed_proj_dim without a head is not understood", hint)
    rest = {key: value for key, value in architecture.items() if key not in _HEAD}
    embedding = {k: v for k, v in (architecture.get("embedding") or {}).items() if k != "tied"}
    return rest | ({"embedding": embedding} if embedding else {}) | {"head": False}


def _refuse_leftovers(c: Config) -> None:
    keys = c.leftovers()
    if keys:
        shown = ", ".join(f"{key:.40}" for key in keys[:SHOWN]) + (", …" if keys[SHOWN:] else "")
        verb = "is no key" if len(keys) == 1 else "are no keys"
        message = f"{shown} {verb} that {c.value('model_type')} is known to have"
        hint = "it may change the architecture: write a card by hand, or remove it if it does not"
        raise c.bad(message, hint)


def _heading(c: Config, name: str) -> dict[str, Any]:
    """Who the card is of, and where it comes from."""
    model_type = c.value("model_type")
    slug = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).lstrip("._-")[:80]
    version = class_defaults()["transformers"]
    told = f"config.json as given, class defaults of transformers {version}"
    notes = "; ".join(_remarks(c, model_type))
    heading = {"name": slug or model_type, "family": FAMILIES[model_type], "source": told}
    return heading | ({"notes": notes} if notes else {})


def _remarks(c: Config, model_type: str) -> list[str]:
    """What a reader of the numbers should know about the config."""
    remarks = []
    if c.says("quantization_config"):
        remarks.append("the published weights are quantised (quantization_config)")
    if model_type in ("llama4_text", "llama4"):
        remarks.append("chunked attention is counted as a window of attention_chunk_size")
    if model_type in _UNCOUNTED and c.says("num_nextn_predict_layers"):
        remarks.append("the layers for multi-token prediction are not counted")
    return remarks
