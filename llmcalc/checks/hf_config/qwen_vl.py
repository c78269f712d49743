"""Configs of Qwen with vision."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

from llmcalc.checks.hf_config import dense, experts, recurrent
from llmcalc.checks.hf_config.facts import Keys, first, layers, shape
from llmcalc.checks.hf_config.images import joined
from llmcalc.checks.hf_config.towers import sizes, tower
from llmcalc.spec.card import ModelCard, Stack
from llmcalc.spec.parts import Attention, Mlp


def qwen2_vl(card: ModelCard) -> Keys:
    """Qwen2 behind a tower of LayerNorms, whose keys have names of their own."""
    stack = tower(card)
    text = {key: value for key, value in dense.plain(card).items() if key != "head_dim"}
    width = stack.hidden_size or 1
    vision = _patched(stack) | {
        "depth": len(layers(stack)),
        "embed_dim": width,
        "hidden_size": shape(stack.extra, "merger.mlp.2.weight")[0],
        "mlp_ratio": first(stack, Mlp).intermediate_size // width,
        "num_heads": first(stack, Attention).num_heads,
        "spatial_merge_size": isqrt(shape(stack.extra, "merger.mlp.0.weight")[0] // width),
        "model_type": "qwen2_vl_vision",
    }
    return joined(card, "qwen2_vl_text", text, vision)


def qwen2_5_vl(card: ModelCard) -> Keys:
    """Qwen2 behind a tower of RMSNorms."""
    stack = tower(card)
    text = {key: value for key, value in dense.plain(card).items() if key != "head_dim"}
    width = stack.hidden_size or 1
    vision = _patched(stack) | _deep_sizes(stack) | {
        "out_hidden_size": shape(stack.extra, "merger.mlp.2.weight")[0],
        "spatial_merge_size": isqrt(shape(stack.extra, "merger.mlp.0.weight")[0] // width),
        "model_type": "qwen2_5_vl_vision",
    }  # fmt: skip
    return joined(card, "qwen2_5_vl_text", text, vision)


def _patched(stack: Stack) -> Keys:
    _, channels, frames, side, _ = shape(stack.extra, "patch_embed.weight")
    return {"in_channels": channels, "temporal_patch_size": frames, "patch_size": side}


def _deep_sizes(stack: Stack) -> Keys:
    known = sizes(stack)
    return {
        "depth": known["num_hidden_layers"],
        "hidden_size": known["hidden_size"],
        "num_heads": known["num_attention_heads"],
        "intermediate_size": known["intermediate_size"],
    }


def _qwen3(card: ModelCard, kind: str, text: Callable[[ModelCard], Keys], seer: str) -> Keys:
    """Qwen3 and later: learned positions, and mergers at layers that feed early ones."""
    stack = tower(card)
    width = stack.hidden_size or 1
    mergers = [one for one in stack.extra if one.name.startswith("deepstack_merger")]
    deep = len({one.name.split(".")[1] for one in mergers})
    vision = _patched(stack) | _deep_sizes(stack) | {
        "out_hidden_size": shape(stack.extra, "merger.linear_fc2.weight")[0],
        "spatial_merge_size": isqrt(shape(stack.extra, "merger.linear_fc1.weight")[1] // width),
        "num_position_embeddings": shape(stack.extra, "pos_embed.weight")[0],
        "model_type": seer,
    }  # fmt: skip
    if seer.startswith("qwen3_vl"):
        vision["deepstack_visual_indexes"] = list(range(deep))
    return joined(card, kind, text(card), vision)


def qwen3_vl(card: ModelCard) -> Keys:
    """Qwen3."""
    return _qwen3(card, "qwen3_vl_text", dense.biased, "qwen3_vl_vision")


def qwen3_vl_moe(card: ModelCard) -> Keys:
    """Qwen3 with experts."""
    return _qwen3(card, "qwen3_vl_moe_text", experts.qwen3_moe, "qwen3_vl_moe_vision")


def qwen3_5(card: ModelCard) -> Keys:
    """Qwen3.5."""
    return _qwen3(card, "qwen3_5_text", recurrent.qwen3_5_text, "qwen3_5_vision")


def qwen3_5_moe(card: ModelCard) -> Keys:
    """Qwen3.5 with experts."""
    return _qwen3(card, "qwen3_5_moe_text", recurrent.qwen3_5_moe_text, "qwen3_5_moe_vision")
