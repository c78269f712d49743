"""Composites and latent attention: counts of the real classes, refusals inside of parts, caches.

Every number here is the parameter count of the transformers 5.24.0 class, built from the same
config on the meta device; tests/witness/ builds them anew where transformers is installed.
"""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.huggingface import card_from_config
from llmcalc.engines.kv import profile
from llmcalc.engines.params import count
from llmcalc.errors import InvalidFileError
from llmcalc.spec.parts import Attention

TEXT = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
        "num_hidden_layers": 2, "vocab_size": 300, "intermediate_size": 96}  # fmt: skip
WIDE = TEXT | {"head_dim": 16}
LLAMA = TEXT | {"model_type": "llama"}
MISTRAL = WIDE | {"model_type": "mistral"}
QWEN = TEXT | {"model_type": "qwen2"}
VIT = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2,
       "intermediate_size": 48, "image_size": 28, "patch_size": 14}  # fmt: skip
SIGLIP = VIT | {"vision_use_head": False}
CLIP = VIT | {"model_type": "clip_vision_model"}
PIXTRAL = VIT | {"model_type": "pixtral"}
MERGED = {"depth": 2, "hidden_size": 32, "num_heads": 4, "intermediate_size": 48,
          "out_hidden_size": 64}  # fmt: skip
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
ROUTED = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
DELTA = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
         "linear_value_head_dim": 12, "num_hidden_layers": 4}  # fmt: skip
MLA = TEXT | {"num_key_value_heads": 4, "kv_lora_rank": 16, "q_lora_rank": 24,
              "qk_nope_head_dim": 8, "qk_rope_head_dim": 8}  # fmt: skip
LATENT = MLA | {"v_head_dim": 12} | ROUTED
INDEXED = LATENT | {"first_k_dense_replace": 1, "index_n_heads": 2, "index_head_dim": 16,
                    "index_topk": 8}  # fmt: skip
SOUND = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2,
         "output_proj_dims": 48}  # fmt: skip
UNTIED = {"tie_word_embeddings": False}
CONDITIONAL = "ForConditionalGeneration"


def without(data: dict[str, Any], key: str) -> dict[str, Any]:
    return {one: value for one, value in data.items() if one != key}


def of(model_type: str, text: dict[str, Any], vision: dict[str, Any], **more: Any) -> Any:
    return {"model_type": model_type, "text_config": text, "vision_config": vision} | more


SPARSE = without(WIDE, "intermediate_size") | DELTA | EXPERTS
SPARSE |= {"shared_expert_intermediate_size": 32}
UNSIZED = without(VIT, "image_size")
GEMMA3 = of("gemma3", WIDE, SIGLIP)
LLAVA = of("llava", LLAMA, CLIP)
GEMMA4 = WIDE | {"num_hidden_layers": 6, "hidden_size_per_layer_input": 0}
SHARED = GEMMA4 | {
    "num_hidden_layers": 4, "num_kv_shared_layers": 2, "global_head_dim": 32,
    "layer_types": ["sliding_attention", "full_attention"] * 2,
}  # fmt: skip
COUNTED: list[tuple[str, dict[str, Any], int]] = [
    ("Gemma 3", GEMMA3, 117_408),
    ("Gemma 3, a pooling head by default", of("gemma3", WIDE, VIT), 124_880),
    ("Gemma 3 headless", of("gemma3", WIDE, VIT, architectures=["Gemma3Model"]), 124_880),
    ("LLaVA", LLAVA, 140_576),
    ("LLaVA tied by its text", of("llava", LLAMA | {"tie_word_embeddings": True}, VIT), 121_376),
    ("LLaVA from two layers", of("llava", LLAMA, VIT, vision_feature_layer=[-2, -1]), 142_624),
    ("LLaVA-NeXT, a learned line break", of("llava_next", LLAMA, VIT), 140_640),
    ("Pixtral in LLaVA", of("llava", MISTRAL, PIXTRAL), 142_816),
    ("Mistral Small 3.1", of("mistral3", MISTRAL, PIXTRAL, **UNTIED), 146_816),
    ("InternVL", of("internvl", QWEN, VIT | {"attention_bias": True}, **UNTIED), 147_264),
    ("InternVL, RMSNorm but for the last", of("internvl", QWEN, VIT | {
        "norm_type": "rms_norm", "use_qk_norm": True, "use_mean_pooling": False}, **UNTIED),
     147_136),
    ("PaliGemma", of("paligemma", WIDE | {"model_type": "gemma"}, SIGLIP, projection_dim=64),
     117_120),
    ("SmolVLM", of("smolvlm", LLAMA, VIT), 142_400),
    ("Aya Vision", of("aya_vision", TEXT | {"model_type": "cohere2"}, SIGLIP), 125_504),
    ("Llama 4", of("llama4", WIDE | {"intermediate_size_mlp": 56, "num_local_experts": 4}, VIT | {
        "vision_output_dim": 48, "projector_input_dim": 40, "projector_output_dim": 48}), 289_568),
    ("Qwen2-VL, text keys beside the others", TEXT | {"model_type": "qwen2_vl", "vision_config": {
        "depth": 2, "embed_dim": 32, "num_heads": 4, "hidden_size": 64}}, 188_288),
    ("Qwen2.5-VL", of("qwen2_5_vl", TEXT, MERGED), 180_896),
    ("Qwen3-VL, two mergers for early layers",
     of("qwen3_vl", WIDE, MERGED | {"deepstack_visual_indexes": [0, 1]}), 313_024),
    ("Qwen3-VL with experts", of("qwen3_vl_moe", WIDE | EXPERTS, MERGED), 338_560),
    ("Qwen3.5", of("qwen3_5", WIDE | DELTA, MERGED), 328_220),
    ("Qwen3.5 with experts", of("qwen3_5_moe", SPARSE, MERGED), 354_076),
    ("GLM-4.1V", of("glm4v", TEXT, MERGED), 199_136),
    ("GLM-4.5V", of("glm4v_moe", TEXT | ROUTED, MERGED), 203_744),
    ("Gemma 4 without towers", {"model_type": "gemma4", "text_config": GEMMA4 | {
        "global_head_dim": 32, "attention_k_eq_v": True, "num_global_key_value_heads": 1}},
     211_488),
    ("Gemma 4 whose last layers share caches", {"model_type": "gemma4",
                                                "text_config": SHARED}, 167_936),
    ("Gemma 4 with wider layers that share", {"model_type": "gemma4", "text_config": SHARED | {
        "use_double_wide_mlp": True}}, 204_800),
    ("Gemma 4 with experts and sound", of("gemma4", GEMMA4 | {
        "enable_moe_block": True, "num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 24,
        "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 200}, UNSIZED | {
        "head_dim": 8, "num_key_value_heads": 4, "position_embedding_size": 9},
        audio_config=SOUND), 884_928),
    ("DeepSeek-V3.2", INDEXED | {"model_type": "deepseek_v32"}, 102_352),
    ("GLM-5", INDEXED | {"model_type": "glm_moe_dsa"}, 102_352),
    ("GLM-4.7-Flash", LATENT | {"model_type": "glm4_moe_lite"}, 98_448),
    ("MiniCPM3, values as wide as the rest", MLA | {"model_type": "minicpm3"}, 76_944),
    ("EXAONE 4", TEXT | {"model_type": "exaone4", "num_hidden_layers": 4}, 161_984),
    ("dots.llm1", TEXT | ROUTED | {"model_type": "dots1", "n_shared_experts": 2,
                                   "first_k_dense_replace": 1}, 109_696),
]  # fmt: skip

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("a key of the text", of("gemma3", WIDE | {"extra_layers": 2}, SIGLIP), "text_config.extra_"),
    ("a key of the tower", of("gemma3", WIDE, SIGLIP | {"adapters": 2}), "vision_config.adapters"),
    ("a text of another kind", of("llava", TEXT | {"model_type": "opt"}, CLIP), "model_type must"),
    ("a tower of another kind", of("llava", LLAMA, VIT | {"model_type": "dinov2"}), "model_type"),
    ("no mapping", of("llava", LLAMA, VIT) | {"vision_config": 3}, "vision_config must be"),
    ("a class of the text alone", GEMMA3 | {"architectures": ["Gemma3ForCausalLM"]}, "Gemma3For"),
    ("a class of another library", LLAVA | {"architectures": ["LlavaLlamaForCausalLM"]}, "LlavaL"),
    ("tied or not", of("mistral3", MISTRAL, PIXTRAL), "tie_word_embeddings is missing"),
    ("heads of the tower", of("gemma3", WIDE, SIGLIP | {"num_attention_heads": 5}), "by 5"),
    ("the projector's layers", LLAVA | {"vision_feature_layer": "last"}, "vision_feature_layer"),
    ("shared indexers", INDEXED | {"model_type": "glm_moe_dsa", "index_topk_freq": 4}, "topk_freq"),
    ("caches that no layer fills", {"model_type": "gemma4", "text_config": SHARED | {
        "num_kv_shared_layers": 3}}, "a kind of attention without a cache"),
    ("caches that all layers share", {"model_type": "gemma4", "text_config": SHARED | {
        "num_kv_shared_layers": 4}}, "a kind of attention without a cache"),
    ("shared caches in an unsaid pattern", {"model_type": "gemma4", "text_config": {
        key: value for key, value in SHARED.items() if key != "layer_types"}}, "layer_types is"),
    ("shared caches of keys alone", {"model_type": "gemma4", "text_config": SHARED | {
        "attention_k_eq_v": True}}, "with attention_k_eq_v"),
    ("shared caches beside experts", {"model_type": "gemma4", "text_config": SHARED | {
        "enable_moe_block": True}}, "with enable_moe_block"),
    ("EXAONE without windows", TEXT | {"model_type": "exaone4", "sliding_window": None}, "layer_t"),
    ("DeepSeek-V4", {"model_type": "deepseek_v4"}, "hyper-connections"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "params"), [case[1:] for case in COUNTED], ids=[case[0] for case in COUNTED]
)
def test_config_counts_like_its_class(data: dict[str, Any], params: int) -> None:
    """The total is that of the real class, to the integer."""
    assert count(lower(card_from_config(data, "m", "c"))).total == params


@pytest.mark.parametrize(
    ("data", "words"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_config_that_nobody_understands_is_refused(data: dict[str, Any], words: str) -> None:
    """What no mapping knows is named with the part that holds it, never counted."""
    with pytest.raises(InvalidFileError) as caught:
        card_from_config(data, "m", "c")
    assert words in caught.value.message
    assert caught.value.hint


def test_towers_count_as_vision() -> None:
    """Tower and projector are vision: 32·(3·14² + 1) for patches, 4 positions, 2 layers, norms."""
    found = count(lower(card_from_config(GEMMA3, "m", "c")))
    layer = 4 * (32 * 32 + 32) + 48 * 32 + 48 + 32 * 48 + 32 + 2 * 64
    assert found.components["vision"] == 32 * 589 + 4 * 32 + 2 * layer + 64 + 32 * 64 + 32


def test_missing_part_takes_the_defaults_of_its_class() -> None:
    """A text_config of three keys is the text class with those three changed."""
    few = {"vocab_size": 300, "num_hidden_layers": 6, "sliding_window": 8}
    card = card_from_config(of("gemma3", few, SIGLIP), "m", "c")
    assert (card.hidden_size, card.layers) == (2304, ("5*local", "global"))
    assert not card_from_config({"model_type": "llava"}, "m", "c").embedding.tied


def test_idle_experts_have_a_row_of_the_router_and_no_weights() -> None:
    """LongCat: 2 experts that do nothing add 2·64 numbers a layer, where the class adds more."""
    sizes = {"num_layers": 2, "ffn_hidden_size": 80, "expert_ffn_hidden_size": 24, "moe_topk": 2}
    data = LATENT | sizes | {"model_type": "longcat_flash", "zero_expert_num": 2}
    for key in ("num_hidden_layers", "intermediate_size", "num_experts_per_tok"):
        del data[key]
    del data["moe_intermediate_size"]
    some = count(lower(card_from_config(data, "m", "c")))
    none = count(lower(card_from_config(data | {"zero_expert_num": 0}, "m", "c")))
    assert some.total - none.total == 2 * 2 * 64
    assert some.buffers - none.buffers == 2 * 2


def test_reused_caches_keep_nothing() -> None:
    """Gemma 3n: four of five layers keep keys and values, three of them in a window of 6."""
    data = WIDE | {"model_type": "gemma3n_text", "num_hidden_layers": 10, "sliding_window": 6,
                   "num_kv_shared_layers": 5}  # fmt: skip
    card = card_from_config(data, "m", "c")
    reused = [one.parts[0] for name, one in card.blocks.items() if "reuse" in name]
    assert [part.kv_reuse for part in reused if isinstance(part, Attention)] == [True, True]
    kept = {one.window: (one.keys, one.values) for one in profile(lower(card)).layers}
    assert kept == {6: (4 * 2 * 16, 4 * 2 * 16), None: (2 * 16, 2 * 16)}


def test_indexer_keeps_its_keys_beside_the_latent() -> None:
    """DeepSeek-V3.2 caches latent, rotated key and index key: 16 + 8 + 16 keys a layer."""
    card = card_from_config(INDEXED | {"model_type": "deepseek_v32"}, "m", "c")
    (kept,) = profile(lower(card)).layers
    assert (kept.window, kept.keys, kept.values) == (None, 2 * (16 + 8 + 16), 0)
