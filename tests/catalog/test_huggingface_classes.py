"""What the importer learned from the real classes, with their integers.

Every number here is the parameter count of the transformers 5.24.0 class, built from the same
config on the meta device; tests/witness/ builds them anew where transformers is installed.
"""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.huggingface import card_from_config
from llmcalc.engines.params import count
from llmcalc.errors import InvalidFileError

SMALL = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 300}
LLAMA = SMALL | {"model_type": "llama", "intermediate_size": 96}
GPT2 = {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "vocab_size": 300,
        "n_positions": 40}  # fmt: skip
GPTJ = GPT2 | {"model_type": "gptj", "rotary_dim": 8}
BLOOM = {"model_type": "bloom", "hidden_size": 64, "n_head": 4, "n_layer": 2, "vocab_size": 300}
OPT = SMALL | {"model_type": "opt", "ffn_dim": 100, "max_position_embeddings": 40,
               "word_embed_proj_dim": 64}  # fmt: skip
LLAMA4 = LLAMA | {
    "model_type": "llama4_text", "num_key_value_heads": 2, "head_dim": 16,
    "intermediate_size_mlp": 56, "num_local_experts": 4,
}  # fmt: skip
FALCON = SMALL | {"model_type": "falcon"}
SMOLLM3 = LLAMA | {"model_type": "smollm3", "num_key_value_heads": 2}
GEMMA = LLAMA | {"model_type": "gemma", "num_key_value_heads": 2}
OLMOE = LLAMA | {"model_type": "olmoe", "num_experts": 4, "num_experts_per_tok": 2}

COUNTED: list[tuple[str, dict[str, Any], int]] = [
    ("GPT-2", GPT2, 121_856),
    ("GPT-2 headless, tied by default", GPT2 | {"architectures": ["GPT2Model"]}, 121_856),
    ("GPT-J headless, no bias of a head", GPTJ | {"architectures": ["GPTJModel"]}, 118_528),
    ("BLOOM headless", BLOOM | {"architectures": ["BloomModel"]}, 119_424),
    ("OPT headless", OPT | {"architectures": ["OPTModel"]}, 81_736),
    ("Llama 4, an empty list of sparse layers", LLAMA4 | {"moe_layers": []}, 84_800),
    ("Llama 4, one sparse layer", LLAMA4 | {"moe_layers": [1]}, 166_464),
    ("Falcon, one head whatever num_kv_heads", FALCON | {"num_kv_heads": 4}, 105_600),
    ("LLaMA", LLAMA, 108_352),
    ("LLaMA rotating whole heads", LLAMA | {"partial_rotary_factor": 1.0}, 108_352),
    ("LLaMA of full layers", LLAMA | {"layer_types": ["full_attention"] * 2}, 108_352),
    ("LLaMA with windows off", LLAMA | {"use_sliding_window": False, "sliding_window": 9}, 108_352),
    ("LLaMA with a word about windows", LLAMA | {"max_window_layers": 28}, 108_352),
    ("head_dim that repeats the rest", GPT2 | {"head_dim": 16, "num_key_value_heads": 4}, 121_856),
]  # fmt: skip

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("GPT-2 knows no head_dim", GPT2 | {"head_dim": 32}, "head_dim must be 16"),
    ("nor grouped heads", GPT2 | {"num_key_value_heads": 2}, "num_key_value_heads must be 4"),
    ("nor has OPT", OPT | {"num_key_value_heads": 1}, "num_key_value_heads must be 4"),
    ("OLMoE norms by hidden_size", OLMOE | {"head_dim": 32}, "head_dim must be 16"),
    ("Gemma has no rule for null", GEMMA | {"head_dim": None}, "head_dim is missing"),
    ("old Falcon, few heads", FALCON | {"multi_query": False, "num_kv_heads": 1}, "num_kv_heads"),
    ("SmolLM3, an empty list", SMOLLM3 | {"no_rope_layers": []}, "0 entries for 2 layers"),
    ("OPT headless with a projection",
     OPT | {"architectures": ["OPTModel"], "word_embed_proj_dim": 32}, "word_embed_proj_dim"),
    ("windows on in a class without", LLAMA | {"sliding_window": 4096}, "sliding_window is no key"),
    ("some layers slide", LLAMA | {"layer_types": ["sliding_attention"] * 2}, "layer_types is no"),
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
def test_config_that_its_class_reads_otherwise_is_refused(data: dict[str, Any], words: str) -> None:
    """A key that the class ignores or cannot use is named, never counted."""
    with pytest.raises(InvalidFileError) as caught:
        card_from_config(data, "m", "c")
    assert words in caught.value.message
    assert caught.value.hint


def test_heads_count_by_architecture() -> None:
    """A headless class has no head, a class for classification is refused."""
    assert not card_from_config(LLAMA | {"architectures": ["LlamaModel"]}, "m", "c").head
    with pytest.raises(InvalidFileError, match="LlamaForSequenceClassification"):
        card_from_config(LLAMA | {"architectures": ["LlamaForSequenceClassification"]}, "m", "c")


def test_aliases_of_keys_mean_the_same() -> None:
    """GPT-2 may say hidden_size for n_embd; both together must agree."""
    renamed = {key: value for key, value in GPT2.items() if key != "n_embd"} | {"hidden_size": 64}
    assert card_from_config(renamed, "m", "c") == card_from_config(GPT2, "m", "c")
    with pytest.raises(InvalidFileError, match="differ"):
        card_from_config(GPT2 | {"hidden_size": 1024}, "m", "c")


def test_any_name_becomes_a_card_name() -> None:
    """A path or a hub id becomes a valid card name."""
    assert card_from_config(LLAMA, "Org/My Model (v2)", "x").name == "org-my-model-v2-"
