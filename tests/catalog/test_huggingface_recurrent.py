"""Recurrent and hybrid configs: parameters of the real classes, states by hand, refusals by name.

Every count here is that of the transformers 5.24.0 class, built from the same config on the meta
device; tests/witness/ builds them anew where transformers is installed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llmcalc.blueprint import lower
from llmcalc.blueprint.operations import Cache, State
from llmcalc.catalog.huggingface import card_from_config
from llmcalc.catalog.validate import validate
from llmcalc.catalog.yamlfile import read
from llmcalc.engines.params import count
from llmcalc.errors import InvalidFileError
from llmcalc.spec.card import ModelCard

CARDS = Path(__file__).parents[2] / "model_cards"
CONFIGS = Path(__file__).parents[1] / "data" / "models" / "configs"

SMALL = {"vocab_size": 300, "hidden_size": 64, "num_hidden_layers": 4}
HYBRID = SMALL | {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96}
KEYS = {"mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 8}
MAMBA = SMALL | {"model_type": "mamba", "state_size": 8}
MAMBA2 = SMALL | {
    "model_type": "mamba2", "num_heads": 8, "head_dim": 16, "state_size": 8, "n_groups": 2,
}  # fmt: skip
RWKV = SMALL | {"model_type": "rwkv"}
JAMBA = HYBRID | {"model_type": "jamba", "num_experts": 4, "mamba_d_state": 8}
BAMBA = HYBRID | KEYS | {"model_type": "bamba", "attn_layer_indices": [1]}
GRANITE = HYBRID | KEYS | {
    "model_type": "granitemoehybrid", "num_local_experts": 4, "shared_intermediate_size": 40,
    "layer_types": ["mamba", "attention", "mamba", "mamba"],
}  # fmt: skip
FALCON = HYBRID | KEYS | {"model_type": "falcon_h1", "mamba_d_ssm": 128}
NEMOTRON = {key: value for key, value in HYBRID.items() if key != "num_hidden_layers"} | {
    "model_type": "nemotron_h", "head_dim": 16, "mamba_num_heads": 8, "mamba_head_dim": 16,
    "ssm_state_size": 8, "n_groups": 2, "n_routed_experts": 4, "moe_intermediate_size": 24,
    "moe_shared_expert_intermediate_size": 40, "hybrid_override_pattern": "M-ME*-M",
}  # fmt: skip
NEXT = HYBRID | {
    "model_type": "qwen3_next", "head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 24, "shared_expert_intermediate_size": 40,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
    "linear_value_head_dim": 12,
}  # fmt: skip
DELTA = {"head_dim": 16, "num_heads": 4, "short_conv_kernel_size": 4}
KIMI = HYBRID | {
    "model_type": "kimi_linear", "num_experts": 4, "num_experts_per_token": 2,
    "moe_intermediate_size": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8,
    "v_head_dim": 12, "pad_token_id": None,
    "linear_attn_config": DELTA | {"full_attn_layers": [4], "kda_layers": [1, 2, 3]},
}  # fmt: skip
OLMO = HYBRID | {"model_type": "olmo_hybrid"}
MINIMAX = HYBRID | {"model_type": "minimax", "num_local_experts": 4}
ONE = {key: value for key, value in KIMI.items() if key != "linear_attn_config"}

BIASED = {"use_bias": True, "use_conv_bias": False}
COUNTED: list[tuple[str, dict[str, Any], int]] = [
    ("Mamba", MAMBA, 137_792),
    ("Mamba, biases and sizes", MAMBA | BIASED | {"time_step_rank": 5, "conv_kernel": 3}, 139_072),
    ("Mamba, width as written", MAMBA | {"intermediate_size": 80}, 93_440),
    ("Mamba, a head of its own", MAMBA | {"tie_word_embeddings": False}, 156_992),
    ("Falcon Mamba, norms without weights", MAMBA | {"model_type": "falcon_mamba"}, 137_792),
    ("Mamba-2", MAMBA2, 151_072),
    ("Mamba-2, biases and groups", MAMBA2 | BIASED | {"n_groups": 4}, 160_704),
    ("RWKV", RWKV, 254_464),
    ("RWKV, narrow", RWKV | {"attention_hidden_size": 48, "intermediate_size": 80}, 147_840),
    ("Jamba, no attention in 4 layers", JAMBA, 342_160),
    ("Jamba, other periods", JAMBA | {"attn_layer_period": 2, "attn_layer_offset": 1,
                                     "expert_layer_period": 3, "expert_layer_offset": 0}, 307_560),
    ("Jamba, one expert is none", JAMBA | {"num_experts": 1, "num_experts_per_tok": 1}, 231_056),
    ("Bamba", BAMBA, 205_944),
    ("Bamba, biases", BAMBA | {"mamba_d_head": "auto", "attention_bias": True, "mlp_bias": True,
                               "mamba_proj_bias": True}, 208_192),
    ("Granite", GRANITE, 458_872),
    ("Granite without experts", GRANITE | {"num_local_experts": 0}, 162_936),
    ("Granite, all Mamba by default", GRANITE | {"layer_types": None}, 473_568),
    ("Falcon-H1, a gate without norm", FALCON, 269_280),
    ("Falcon-H1, a norm", FALCON | {"mamba_rms_norm": True, "mamba_n_groups": 2}, 274_208),
    ("Falcon-H1, biases", FALCON | {"mamba_d_ssm": None, "projectors_bias": True,
                                    "mamba_proj_bias": True}, 270_656),
    ("Nemotron-H", NEMOTRON, 177_704),
    ("Nemotron-3, latent experts", NEMOTRON | {"moe_latent_size": 20}, 171_816),
    ("Nemotron-H, biases", NEMOTRON | {"hybrid_override_pattern": "M-*-", "mlp_bias": True},
     103_992),
    ("Qwen3-Next", NEXT, 197_468),
    ("Qwen3-Next, a dense layer", NEXT | {"full_attention_interval": 2, "mlp_only_layers": [0]},
     193_768),
    ("Qwen3-Next without experts", NEXT | {"num_experts": 0}, 165_468),
    ("Kimi Linear", KIMI, 202_060),
    ("OLMo Hybrid", OLMO, 202_752),
    ("OLMo Hybrid, sizes", OLMO | {"attention_bias": True, "linear_num_key_heads": 2,
                                   "linear_value_head_dim": 16}, 184_104),
    ("MiniMax", MINIMAX, 400_576),
    ("MiniMax by its list", MINIMAX | {"layer_types": ["linear_attention"] * 3
                                       + ["full_attention"]}, 408_832),
]  # fmt: skip

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("another activation", MAMBA | {"hidden_act": "gelu"}, "hidden_act"),
    ("heads that do not fill", MAMBA2 | {"num_heads": 7}, "7 Mamba heads of 16"),
    ("an offset beyond its period", JAMBA | {"attn_layer_offset": 9}, "attn_layer_offset 9"),
    ("a list that says otherwise", JAMBA | {"layer_types": ["full_attention"] * 4}, "layer_types"),
    ("a layer without a name", GRANITE | {"layer_types": ["mamba", "conv"] * 2}, "conv"),
    ("too few layers", GRANITE | {"layer_types": ["mamba"]}, "1 entries for 4 layers"),
    ("no shared MLP", GRANITE | {"shared_intermediate_size": 0}, "shared_intermediate_size"),
    ("biases of one side", FALCON | {"mamba_proj_bias": True}, "projectors_bias"),
    ("an unknown sign", NEMOTRON | {"hybrid_override_pattern": "MX"}, "unknown kind of layer"),
    ("no layer", NEMOTRON | {"hybrid_override_pattern": ""}, "names no layer"),
    ("a head that the class does not tie", NEMOTRON | {"tie_word_embeddings": True}, "tie_word"),
    ("as much for Kimi", KIMI | {"tie_word_embeddings": True}, "tie_word_embeddings"),
    ("two shared experts", NEMOTRON | {"n_shared_experts": 2}, "n_shared_experts"),
    ("two layers ahead", NEMOTRON | {"num_nextn_predict_layers": 2}, "multi-token prediction"),
    ("a gate with bias", NEXT | {"attention_bias": True}, "attention_bias"),
    ("value heads left over", NEXT | {"linear_num_key_heads": 3}, "4 value heads"),
    ("a layer named twice",
     ONE | {"linear_attn_config": DELTA | {"full_attn_layers": [1, 1], "kda_layers": [2, 3]}},
     "each of the 4 layers"),
    ("one list of two", ONE | {"linear_attn_config": DELTA | {"kda_layers": [1]}}, "one kind only"),
    ("another gate", ONE | {"linear_attn_config": DELTA | {"use_full_rank_gate": True}},
     "use_full_rank_gate"),
    ("one kind of layer", OLMO | {"layer_types": ["full_attention"] * 4}, "wants both"),
    ("shared blocks", {"model_type": "zamba2"}, "zamba2 is not understood yet"),
    ("short convolutions", {"model_type": "lfm2"}, "lfm2 is not understood yet"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "params"), [one[1:] for one in COUNTED],
                         ids=[one[0] for one in COUNTED])  # fmt: skip
def test_config_counts_like_its_class(data: dict[str, Any], params: int) -> None:
    """The total is that of the real class, to the integer."""
    assert count(lower(card_from_config(data, "m", "c"))).total == params


@pytest.mark.parametrize(("data", "words"), [one[1:] for one in REFUSED],
                         ids=[one[0] for one in REFUSED])  # fmt: skip
def test_config_that_no_card_can_say_is_refused(data: dict[str, Any], words: str) -> None:
    """What the class would read otherwise, or not at all, is named and never counted."""
    with pytest.raises(InvalidFileError) as caught:
        card_from_config(data, "m", "c")
    assert words in caught.value.message
    assert caught.value.hint


def shipped(slug: str) -> ModelCard:
    path = CARDS / f"{slug}.yaml"
    return validate(ModelCard, read(path.read_text(encoding="utf-8"), path.name))


def remembered(card: ModelCard) -> int:
    """Elements of all states of one sequence."""
    return sum(
        operation.elements * section.times
        for section in lower(card).sections
        if section.kind == "layer"
        for operation in section.operations
        if isinstance(operation, State)
    )


def cached(card: ModelCard) -> int:
    """Elements that one more token adds to the caches."""
    return sum(
        operation.elements * section.times
        for section in lower(card).sections
        if section.kind == "layer"
        for operation in section.operations
        if isinstance(operation, Cache)
    )


STATES = [
    ("mamba-130m", 24 * (1536 * 16 + 1536 * 3), 0),
    ("mamba-codestral-7b", 64 * (128 * 64 * 128 + (8192 + 2 * 8 * 128) * 3), 0),
    ("rwkv4-169m", 12 * 5 * 768, 0),
    ("jamba-v0.1", 28 * (8192 * 16 + 8192 * 3), 4 * 2 * 8 * 128),
    ("falcon-h1-34b", 72 * (32 * 128 * 256 + (4096 + 2 * 2 * 256) * 3), 72 * 2 * 4 * 128),
    ("nemotron-nano-9b-v2", 27 * (128 * 80 * 128 + (10240 + 2 * 8 * 128) * 3), 4 * 2 * 8 * 128),
    ("qwen3-next-80b-a3b", 36 * (32 * 128 * 128 + (2 * 2048 + 4096) * 3), 12 * 2 * 2 * 256),
    ("kimi-linear-48b-a3b", 20 * (32 * 128 * 128 + 3 * 4096 * 3), 7 * (512 + 64)),
    ("minimax-text-01", 70 * 64 * 128 * 128, 10 * 2 * 8 * 128),
]


@pytest.mark.parametrize(("slug", "states", "token"), STATES, ids=[one[0] for one in STATES])
def test_states_are_those_of_the_mixers(slug: str, states: int, token: int) -> None:
    """A sequence keeps its states and kernel - 1 inputs of each convolution; attention grows."""
    assert remembered(shipped(slug)) == states
    assert cached(shipped(slug)) == token


def test_parallel_mixers_stand_under_one_norm() -> None:
    """Falcon-H1's attention and Mamba-2 see the same normed input, the MLP what they put out."""
    card = card_from_config(FALCON, "m", "c")
    assert card.layers == ("4*(hybrid mlp)",)
    assert card.blocks["hybrid"].placement == "parallel"
    assert card.blocks["hybrid"].norms == card.blocks["mlp"].norms == 1


AHEAD = [
    ("qwen3-next-80b-a3b", 81_324_862_720),
    ("nemotron-3-super-120b-a12b", 123_611_012_096),
]
"""What the hub counts, Nemotron's correction biases in FP32 apart (truth.tsv names the sources)."""


@pytest.mark.parametrize(("slug", "published"), AHEAD, ids=[one[0] for one in AHEAD])
def test_layer_for_a_further_token_is_counted_apart(slug: str, published: int) -> None:
    """Total and prediction layer together are the published count."""
    found = count(lower(shipped(slug)))
    assert found.total + found.mtp == published


def test_nemotron_files_announce_the_layer_ahead() -> None:
    """A config with num_nextn_predict_layers gives the block of attention and experts."""
    text = (CONFIGS / "nemotron-3-super-120b-a12b.json").read_text(encoding="utf-8")
    card = card_from_config(json.loads(text), "n", "n")
    assert card.mtp is not None
    assert card.mtp.block == "ahead"
    assert "ahead" not in " ".join(card.layers)
