"""Malformed and hostile configs end in one clear line, a hint and exit code 4."""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.catalog.huggingface import card_from_config, read_config
from llmcalc.errors import InvalidFileError

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
    "num_hidden_layers": 2, "vocab_size": 100,
}  # fmt: skip
QWEN = LLAMA | {"model_type": "qwen2"}
MOE = LLAMA | {
    "model_type": "mixtral",
    "num_key_value_heads": 2,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
}
GEMMA = LLAMA | {"model_type": "gemma3_text", "num_key_value_heads": 2}
DEEPSEEK = LLAMA | {"model_type": "deepseek_v3"}
OPT = {"model_type": "opt", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
FALCON = LLAMA | {"model_type": "falcon"}
del FALCON["intermediate_size"]
MPT = {"model_type": "mpt", "d_model": 64, "n_heads": 4, "n_layers": 2}
NAS = LLAMA | {"model_type": "nemotron-nas", "hidden_act": "silu", "tie_word_embeddings": False}
del NAS["intermediate_size"]


def _nas(mixer: dict[str, Any], width: float = 1.0) -> dict[str, Any]:
    """A NAS config of two such layers."""
    return NAS | {"block_configs": [{"attention": mixer, "ffn": {"ffn_mult": width}}] * 2}


CONFIGS: list[tuple[str, dict[str, Any], str]] = [
    ("no type", {"hidden_size": 64}, "model_type is missing"),
    ("type is null", LLAMA | {"model_type": None}, "model_type is missing"),
    ("type is a list", LLAMA | {"model_type": ["llama"]}, "model_type is no name"),
    ("type is a number", LLAMA | {"model_type": 7}, "model_type is no name"),
    ("type is empty", LLAMA | {"model_type": ""}, "model_type is no name"),
    ("type misspelt", LLAMA | {"model_type": "lama"}, "lama is not understood"),
    ("type unheard of", LLAMA | {"model_type": "zzzz"}, "zzzz is not understood"),
    ("very long type", LLAMA | {"model_type": "x" * 10_000}, "is not understood"),
    ("kind of the next release", {"model_type": "zamba2"}, "zamba2 is not understood yet"),
    ("images", {"model_type": "some_vl", "text_config": {}}, "some_vl is not understood yet"),
    ("unknown key", LLAMA | {"altup_num_inputs": 4}, "altup_num_inputs"),
    ("two unknown keys", LLAMA | {"foo_layers": 4, "bar_dim": [1]}, "foo_layers, bar_dim"),
    ("many unknown keys", LLAMA | {f"key_{i}": i + 1 for i in range(50)}, "key_7, …"),
    ("rotation of other models", LLAMA | {"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
    ("cross attention", LLAMA | {"add_cross_attention": True}, "add_cross_attention"),
    ("pruned heads", LLAMA | {"pruned_heads": {"1": [0]}}, "pruned_heads"),
    ("text for a number", LLAMA | {"hidden_size": "64"}, "hidden_size must be"),
    ("true for a number", LLAMA | {"num_hidden_layers": True}, "num_hidden_layers must be"),
    ("float for a number", LLAMA | {"vocab_size": 100.0}, "vocab_size must be"),
    ("infinite size", LLAMA | {"hidden_size": float("inf")}, "hidden_size must be"),
    ("negative", LLAMA | {"intermediate_size": -128}, "intermediate_size must be"),
    ("zero heads", LLAMA | {"num_attention_heads": 0}, "num_attention_heads must be"),
    ("null size", LLAMA | {"hidden_size": None}, "hidden_size is missing"),
    ("list for a size", LLAMA | {"hidden_size": [64]}, "hidden_size must be"),
    ("endless layers", LLAMA | {"num_hidden_layers": 10**8}, "num_hidden_layers must be"),
    ("astronomic size", LLAMA | {"hidden_size": 10**300}, "hidden_size must be"),
    ("heads do not divide", LLAMA | {"num_attention_heads": 7}, "does not divide"),
    ("kv heads do not divide", LLAMA | {"num_key_value_heads": 3}, "do not divide"),
    ("text for a flag", LLAMA | {"attention_bias": "yes"}, "attention_bias must be true or false"),
    ("number for a flag", LLAMA | {"tie_word_embeddings": 1}, "tie_word_embeddings must be"),
    ("unknown activation", LLAMA | {"hidden_act": "snake"}, "hidden_act must be one of"),
    ("activation is a number", LLAMA | {"hidden_act": 3}, "hidden_act must be a text"),
    ("class is a number", LLAMA | {"architectures": [3]}, "architectures must be"),
    ("class for something else", LLAMA | {"architectures": ["LlamaForFun"]}, "LlamaForFun"),
    ("layers of no kind", QWEN | {"layer_types": ["linear_attention"] * 2}, "linear_attention"),
    ("too few layer types", QWEN | {"layer_types": ["full_attention"]}, "1 entries for 2 layers"),
    ("layer types are a word", QWEN | {"layer_types": "full"}, "layer_types must be"),
    ("sliding against its flag", QWEN | {"layer_types": ["sliding_attention"] * 2}, "is false"),
    ("sliding without a window", GEMMA | {"sliding_window": None}, "sliding_window is missing"),
    ("windows that differ", LLAMA | {"model_type": "mistral", "sliding_window_size": 1}, "differ"),
    ("looks both ways", GEMMA | {"use_bidirectional_attention": True}, "use_bidirectional"),
    ("more visits than experts", MOE | {"num_experts_per_tok": 5}, "5 of 4 experts"),
    ("no experts", MOE | {"num_local_experts": 0}, "num_local_experts must be"),
    ("latent attention with bias", DEEPSEEK | {"attention_bias": True}, "attention_bias true"),
    ("experts on some layers", DEEPSEEK | {"moe_layer_freq": 2}, "moe_layer_freq"),
    ("old Falcon, some heads", FALCON | {"num_kv_heads": 2, "multi_query": False}, "num_kv_heads"),
    ("three parallel norms", FALCON | {"num_ln_in_parallel_attn": 3}, "num_ln_in_parallel_attn"),
    ("MPT with biases", MPT | {"no_bias": False}, "no_bias false"),
    ("MPT without ALiBi", MPT | {"attn_config": {"alibi": False}}, "attn_config.alibi"),
    ("MPT with one head", MPT | {"attn_config": {"attn_type": "multiquery_attention"}}, "_type"),
    ("MPT with a number", MPT | {"attn_config": 3}, "attn_config must be a mapping"),
    ("NAS without blocks", NAS, "block_configs must be a list of 2"),
    ("NAS with a number", NAS | {"block_configs": [1, 2]}, "without attention and ffn"),
    ("NAS with a linear layer", _nas({"replace_with_linear": True}), "replace_with_linear"),
    ("NAS with odd groups", _nas({"n_heads_in_group": 3}), "n_heads_in_group must divide 4"),
    ("NAS with endless width", _nas({"n_heads_in_group": 2}, 1e9), "ffn_mult must be"),
    ("OPT flag", OPT | {"do_layer_norm_before": "no"}, "do_layer_norm_before must be"),
    ("remote code unsaid", LLAMA | {"model_type": "deepseek"}, "is missing"),
    ("nothing but a remote type", {"model_type": "internlm2"}, "is missing"),
]  # fmt: skip

TEXTS: list[tuple[str, str, str]] = [
    ("empty", "", "this is no JSON"),
    ("no object", "[1, 2]", "no mapping"),
    ("a number", "3", "no mapping"),
    ("cut off", '{"model_type": "llama"', "this is no JSON"),
    ("yaml", "model_type: llama", "this is no JSON"),
    ("key twice", '{"model_type": "llama", "model_type": "gpt2"}', "stands here twice"),
    ("inner key twice", '{"a": {"b": 1, "b": 2}}', "stands here twice"),
    ("not a number", '{"hidden_size": NaN}', "NaN is no number"),
    ("too large", '{"a": "' + "x" * (4 * 2**20) + '"}', "characters"),
    ("deep list", "[" * 100_000, "levels of nesting"),
    ("deep object", '{"a":' * 40 + "1" + "}" * 40, "levels of nesting"),
    ("long number", '{"a": ' + "9" * 5000 + "}", "limit"),
]


def _clear(error: InvalidFileError) -> None:
    assert error.exit_code == 4
    assert error.hint
    assert "\n" not in error.message
    assert len(error.message) < 500


@pytest.mark.parametrize(("data", "words"), [c[1:] for c in CONFIGS], ids=[c[0] for c in CONFIGS])
def test_config_is_refused(data: dict[str, Any], words: str) -> None:
    """One clear line names the key or the value, with a hint."""
    with pytest.raises(InvalidFileError) as error:
        card_from_config(data, "model", "config.json")
    assert words in error.value.message
    assert error.value.message.startswith("config.json: ")
    _clear(error.value)


@pytest.mark.parametrize(("text", "words"), [c[1:] for c in TEXTS], ids=[c[0] for c in TEXTS])
def test_text_is_refused(text: str, words: str) -> None:
    """Text that is no plain, bounded JSON object is refused before anything reads it."""
    with pytest.raises(InvalidFileError) as error:
        read_config(text, "config.json")
    assert words in error.value.message
    _clear(error.value)


def test_misspelt_type_gets_a_suggestion() -> None:
    """A model_type that is nearly right is met with the right one."""
    with pytest.raises(InvalidFileError) as error:
        card_from_config(LLAMA | {"model_type": "qwen_2"}, "m", "c")
    assert error.value.hint == "did you mean qwen2?"


def test_harmless_keys_pass() -> None:
    """Keys of generation, tokens, dropout and rotary angles leave the card as it is."""
    more = {
        "attention_dropout": 0.5, "bos_token_id": 3, "rope_theta": 5e5,
        "rope_scaling": {"factor": 8},
        "_private": {"x": 1}, "torch_dtype": "bfloat16", "unheard_of": None, "max_length": 20,
        "is_encoder_decoder": False, "pruned_heads": {}, "time_step_eps": float("inf"),
    }  # fmt: skip
    assert card_from_config(LLAMA | more, "m", "c") == card_from_config(LLAMA, "m", "c")
