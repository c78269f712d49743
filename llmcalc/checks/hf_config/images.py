"""Configs of models with a tower: the language model's, the tower's, and what joins them."""

from __future__ import annotations

from math import isqrt

from llmcalc.checks.hf_config import dense, experts, gemma_n
from llmcalc.checks.hf_config.facts import Keys, first, has, layers, shape
from llmcalc.checks.hf_config.towers import (
    conformer,
    idefics,
    internvit,
    seer,
    siglip,
    sizes,
    tower,
)
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention


def joined(card: ModelCard, kind: str, text: Keys, vision: Keys) -> Keys:
    """The config of the whole, which alone says whether the head is tied."""
    return {
        "text_config": text | {"model_type": kind},
        "vision_config": vision,
        "tie_word_embeddings": card.embedding.tied,
    }


def llava(card: ModelCard) -> Keys:
    """LLaMA or Mistral behind CLIP or Pixtral."""
    stack = tower(card)
    bias = {"multimodal_projector_bias": has(stack.extra, "projector.linear_1.bias")}
    return joined(card, "mistral", dense.mistral(card), seer(card)) | bias


def mistral3(card: ModelCard) -> Keys:
    """Mistral behind Pixtral, patches merged first."""
    stack = tower(card)
    merged, folded = shape(stack.extra, "projector.merging_layer.weight")
    return llava(card) | {"spatial_merge_size": isqrt(folded // merged)}


def paligemma(card: ModelCard) -> Keys:
    """Gemma behind SigLIP."""
    stack = tower(card)
    out = {"projection_dim": shape(stack.extra, "projector.linear.weight")[0]}
    return joined(card, "gemma", dense.biased(card), siglip(stack)) | out


def smolvlm(card: ModelCard) -> Keys:
    """LLaMA behind SigLIP, patches folded together."""
    stack = tower(card)
    vision = idefics(stack) | {"model_type": "smolvlm_vision"}
    folded = shape(stack.extra, "connector.proj.weight")[1] // (stack.hidden_size or 1)
    return joined(card, "llama", dense.llama(card), vision) | {"scale_factor": isqrt(folded)}


def glm4v(card: ModelCard) -> Keys:
    """GLM-4 behind a tower of gated layers."""
    stack = tower(card)
    out, width, merge, _ = shape(stack.extra, "downsample.weight")
    _, channels, frames, side, _ = shape(stack.extra, "patch_embed.weight")
    rows = shape(stack.extra, "position_embedding.weight")[0]
    vision = {
        "model_type": "glm4v_vision",
        "hidden_size": width,
        "depth": len(layers(stack)),
        "num_heads": first(stack, Attention).num_heads,
        "attention_bias": first(stack, Attention).qkv_bias,
        "intermediate_size": shape(stack.extra, "merger.gate_proj.weight")[0],
        "out_hidden_size": out,
        "spatial_merge_size": merge,
        "patch_size": side,
        "in_channels": channels,
        "temporal_patch_size": frames,
        "image_size": isqrt(rows) * side,
    }
    text = {key: value for key, value in dense.plain(card).items() if key != "head_dim"}
    return joined(card, "glm4v_text", text, vision)


def internvl(card: ModelCard) -> Keys:
    """Qwen2 behind InternViT."""
    stack = tower(card)
    folded = shape(stack.extra, "projector.linear_1.weight")[1]
    ratio = {"downsample_ratio": 1 / isqrt(folded // (stack.hidden_size or 1))}
    text = {key: value for key, value in dense.plain(card).items() if key != "head_dim"}
    return joined(card, "qwen2", text, internvit(stack)) | ratio


def gemma3(card: ModelCard) -> Keys:
    """Gemma 3 behind SigLIP."""
    return joined(card, "gemma3_text", dense.sliding(card), siglip(tower(card)))


def llama4(card: ModelCard) -> Keys:
    """Llama 4 behind a vision transformer and an adapter."""
    stack = tower(card)
    rows = shape(stack.extra, "positional_embedding_vlm")[0] - 1
    width, flat = shape(stack.extra, "patch_embedding.weight")
    side = isqrt(flat // 3)
    inner, folded = shape(stack.extra, "vision_adapter.fc1.weight")
    vision = sizes(stack) | {
        "model_type": "llama4_vision_model",
        "hidden_size": width,
        "patch_size": side,
        "image_size": isqrt(rows) * side,
        "intermediate_size": folded,
        "projector_input_dim": inner,
        "projector_output_dim": shape(stack.extra, "vision_adapter.fc2.weight")[0],
        "vision_output_dim": shape(stack.extra, "projector.linear_1.weight")[1],
    }
    return joined(card, "llama4_text", experts.llama4_text(card), vision)


def gemma4(card: ModelCard) -> Keys:
    """Gemma 4 behind a vision transformer, and a conformer where it hears."""
    stack = tower(card)
    side = isqrt(shape(stack.extra, "input_proj")[1] // 3)
    part = first(stack, Attention)
    vision = sizes(stack) | {
        "model_type": "gemma4_vision",
        "num_key_value_heads": part.num_heads,
        "head_dim": part.head_dim or (stack.hidden_size or 1) // part.num_heads,
        "patch_size": side,
        "position_embedding_size": shape(stack.extra, "position_embedding_table")[1],
    }
    whole = joined(card, "gemma4_text", gemma_n.gemma4_text(card), vision)
    hears = any(one.modality == "audio" for one in card.towers)
    return whole | ({"audio_config": conformer(tower(card, "audio"))} if hears else {})
