"""A card as the config.json of its family: what catalog.huggingface reads, written."""

from __future__ import annotations

from collections.abc import Callable

from llmcalc.checks.hf_config import (
    classic,
    dense,
    encoders,
    experts,
    gemma_n,
    images,
    qwen_vl,
    recurrent,
    stacks,
)
from llmcalc.checks.hf_config.facts import Keys, NotExpressibleError
from llmcalc.checks.hf_config.model_types import model_type, stand_in, why_no_class
from llmcalc.spec.card import ModelCard

__all__ = ["FAMILIES", "NotExpressibleError", "hf_config", "model_type", "stand_in", "why_no_class"]

_SAME = {
    "granite": dense.llama, "ministral3": dense.mistral, "qwen2": dense.plain,
    "qwen3": dense.biased, "phi3": dense.mistral, "nemotron": dense.plain, "olmo": dense.biased,
    "olmo2": dense.biased, "olmo3": dense.sliding, "gemma": dense.biased, "gemma2": dense.sliding,
    "gemma3_text": dense.sliding, "glm4": dense.glm, "falcon_mamba": recurrent.mamba,
    "glm_moe_dsa": experts.deepseek_v32, "deepseek_v2": experts.deepseek_v3,
    "deberta-v2": encoders.deberta_v2, "xlm-roberta": encoders.xlm_roberta,
    "llava_next": images.llava, "cohere2": dense.sliding, "exaone4": dense.exaone4,
}  # fmt: skip
"""Families whose keys are those of another, or whose name is no name of a function."""

_MODULES = (dense, classic, experts, recurrent, encoders, stacks, gemma_n, images, qwen_vl)
_PARTS = {"plain", "biased", "sliding", "kinds", "joined", "t5_encoder", "t5_sizes"}

FAMILIES: dict[str, Callable[[ModelCard], Keys]] = {
    name: function
    for module in _MODULES
    for name, function in vars(module).items()
    if getattr(function, "__module__", "") == module.__name__
    and callable(function)
    and not name.startswith("_")
    and name not in _PARTS
} | _SAME
"""What writes the keys of each model_type."""


def hf_config(card: ModelCard) -> Keys:
    """The config.json of a card, as far as parameters depend on it.

    Raises NotExpressibleError, with the reason, where no config of its family says what it says.
    """
    if why := why_no_class(card.name):
        raise NotExpressibleError(why)
    kind = model_type(card.name, card.family)
    if kind is None or kind not in FAMILIES:
        told = f"the family {card.family}" if kind is None else f"the type {kind}"
        raise NotExpressibleError(f"{told} is not mapped to a class")
    # A padding row is no matter of counts, and some classes want it inside the vocabulary.
    return {"model_type": kind, "pad_token_id": None} | FAMILIES[kind](card)
