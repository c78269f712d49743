"""Configs of models with a tower: the language model's, the tower's, and what joins them."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

from llmcalc.checks.hf_config import dense, experts, gemma_n, recurrent
from llmcalc.checks.hf_config.facts import (
    Keys,
    NotExpressibleError,
    first,
    has,
    layers,
    shape,
)
from llmcalc.spec.card import ModelCard, Stack
from llmcalc.spec.parts import Attention, Mlp


def tower(card: ModelCard, modality: str = "vision") -> Stack:
    """The stack that sees. Raises NotExpressibleError where the card has a bare count."""
    for one in card.towers:
        if one.modality == modality and one.stack:
            return one.stack
    raise NotExpressibleError(f"no tower of {modality} with layers")


def _sizes(stack: Stack) -> Keys:
    return {
        "hidden_size": stack.hidden_size,
        "num_hidden_layers": len(layers(stack)),
        "num_attention_heads": first(stack, Attention).num_heads,
        "intermediate_size": first(stack, Mlp).intermediate_size,
    }


def _square(stack: Stack, *, patch: str, rows: int) -> Keys:
    """Side of a patch, and of the image that `rows` patches fill."""
    side = shape(stack.extra, patch)[-1]
    return {"patch_size": side, "image_size": isqrt(rows) * side}


def clip(stack: Stack) -> Keys:
    """CLIP: one position more than patches."""
    rows = shape(stack.extra, "position_embedding.weight")[0] - 1
    square = _square(stack, patch="patch_embedding.weight", rows=rows)
    return {"model_type": "clip_vision_model"} | _sizes(stack) | square


def siglip(stack: Stack) -> Keys:
    """SigLIP: a pooling head where its tensors stand."""
    rows = shape(stack.extra, "position_embedding.weight")[0]
    square = _square(stack, patch="patch_embedding.weight", rows=rows)
    pooled = {"vision_use_head": has(stack.extra, "head.")}
    return {"model_type": "siglip_vision_model"} | _sizes(stack) | square | pooled


def internvit(stack: Stack) -> Keys:
    """InternViT."""
    rows = shape(stack.extra, "position_embeddings")[-2] - 1
    part = first(stack, Attention)
    return _sizes(stack) | _square(stack, patch="patch_embeddings.weight", rows=rows) | {
        "model_type": "internvl_vision",
        "attention_bias": part.qkv_bias,
        "use_qk_norm": part.qk_norm is not None,
        "norm_type": "layer_norm" if stack.norm == "layer" else "rms_norm",
        "use_absolute_position_embeddings": True,
        "use_mask_token": has(stack.extra, "mask_token"),
        "use_mean_pooling": not stack.final_norm,
    }  # fmt: skip


def _joined(card: ModelCard, kind: str, text: Keys, vision: Keys) -> Keys:
    return {
        "text_config": text | {"model_type": kind},
        "vision_config": vision,
        "tie_word_embeddings": card.embedding.tied,
    }


def llava(card: ModelCard) -> Keys:
    """LLaMA behind CLIP."""
    stack = tower(card)
    bias = {"multimodal_projector_bias": has(stack.extra, "projector.linear_1.bias")}
    return _joined(card, "llama", dense.llama(card), clip(stack)) | bias


def internvl(card: ModelCard) -> Keys:
    """Qwen2 behind InternViT."""
    stack = tower(card)
    folded = shape(stack.extra, "projector.linear_1.weight")[1]
    ratio = {"downsample_ratio": 1 / isqrt(folded // (stack.hidden_size or 1))}
    text = {key: value for key, value in dense.plain(card).items() if key != "head_dim"}
    return _joined(card, "qwen2", text, internvit(stack)) | ratio


def gemma3(card: ModelCard) -> Keys:
    """Gemma 3 behind SigLIP."""
    return _joined(card, "gemma3_text", dense.sliding(card), siglip(tower(card)))


def llama4(card: ModelCard) -> Keys:
    """Llama 4 behind a vision transformer and an adapter."""
    stack = tower(card)
    rows = shape(stack.extra, "positional_embedding_vlm")[0] - 1
    width, flat = shape(stack.extra, "patch_embedding.weight")
    side = isqrt(flat // 3)
    inner, folded = shape(stack.extra, "vision_adapter.fc1.weight")
    vision = _sizes(stack) | {
        "model_type": "llama4_vision_model",
        "hidden_size": width,
        "patch_size": side,
        "image_size": isqrt(rows) * side,
        "intermediate_size": folded,
        "projector_input_dim": inner,
        "projector_output_dim": shape(stack.extra, "vision_adapter.fc2.weight")[0],
        "vision_output_dim": shape(stack.extra, "projector.linear_1.weight")[1],
    }
    return _joined(card, "llama4_text", experts.llama4_text(card), vision)


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
    return _joined(card, "qwen2_vl_text", text, vision)


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
    return _joined(card, "qwen2_5_vl_text", text, vision)


def _patched(stack: Stack) -> Keys:
    _, channels, frames, side, _ = shape(stack.extra, "patch_embed.weight")
    return {"in_channels": channels, "temporal_patch_size": frames, "patch_size": side}


def _deep_sizes(stack: Stack) -> Keys:
    sizes = _sizes(stack)
    return {
        "depth": sizes["num_hidden_layers"],
        "hidden_size": sizes["hidden_size"],
        "num_heads": sizes["num_attention_heads"],
        "intermediate_size": sizes["intermediate_size"],
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
    return _joined(card, kind, text(card), vision)


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


def gemma4(card: ModelCard) -> Keys:
    """Gemma 4 behind a vision transformer."""
    stack = tower(card)
    side = isqrt(shape(stack.extra, "input_proj")[1] // 3)
    part = first(stack, Attention)
    vision = _sizes(stack) | {
        "model_type": "gemma4_vision",
        "num_key_value_heads": part.num_heads,
        "head_dim": part.head_dim or (stack.hidden_size or 1) // part.num_heads,
        "patch_size": side,
        "position_embedding_size": shape(stack.extra, "position_embedding_table")[1],
    }
    return _joined(card, "gemma4_text", gemma_n.gemma4_text(card), vision)
