"""Encoders and encoder-decoder models against the real classes on the meta device.

Skipped where torch and transformers are not installed; they are no dependencies of this project.
"""

from __future__ import annotations

import json
import random
import warnings
from importlib.util import find_spec
from typing import Any

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.huggingface import card_from_config
from llmcalc.engines.params import count
from llmcalc.errors import InvalidFileError

if find_spec("torch") is None or find_spec("transformers") is None:
    pytest.skip("needs torch and transformers, which are not installed", allow_module_level=True)

pytestmark = [pytest.mark.witness, pytest.mark.filterwarnings("ignore")]

VARIANTS = 30
FLAG = [True, False]
Options = dict[str, list[Any]]

ENCODER: Options = {
    "hidden_size": [64, 96], "num_hidden_layers": [2, 1, 3], "num_attention_heads": [4, 8],
    "intermediate_size": [100, 128], "vocab_size": [300, 301], "max_position_embeddings": [40, 64],
}  # fmt: skip
TYPED = ENCODER | {"type_vocab_size": [2, 1, 3]}
ENCODER_MAY: Options = {
    "tie_word_embeddings": FLAG, "is_decoder": FLAG, "hidden_act": ["relu"],
    "id2label": [{"0": "a"}, {"0": "a", "1": "b", "2": "c"}], "num_labels": [3],
}  # fmt: skip
STACKS: Options = {
    "d_model": [64, 96], "encoder_layers": [2, 1, 3], "decoder_layers": [2, 1, 3],
    "encoder_attention_heads": [4, 8], "decoder_attention_heads": [4, 8],
    "encoder_ffn_dim": [100, 128], "decoder_ffn_dim": [100, 140], "vocab_size": [300, 301],
    "max_position_embeddings": [40, 64], "pad_token_id": [1],
}  # fmt: skip
STACKS_MAY: Options = {"scale_embedding": FLAG, "activation_function": ["relu"]}
T5: Options = {
    "d_model": [64, 96], "d_kv": [16, 20], "num_heads": [4, 6], "d_ff": [100],
    "num_layers": [2, 1, 3], "relative_attention_num_buckets": [16, 32], "vocab_size": [300],
    "feed_forward_proj": ["relu", "gated-gelu", "gated-silu", "gelu"],
    "tie_word_embeddings": [True, False], "num_decoder_layers": [None, 1, 4],
}  # fmt: skip
DEBERTA_MAY: Options = {
    "relative_attention": FLAG, "max_relative_positions": [-1, 20], "position_buckets": [-1, 16],
    "norm_rel_ebd": ["layer_norm", "none"], "share_att_key": FLAG, "legacy": FLAG,
    "pos_att_type": ["c2p|p2c", ["c2p"], None], "conv_kernel_size": [0, 3], "conv_groups": [1, 2],
    "position_biased_input": FLAG, "embedding_size": [32, 64],
}  # fmt: skip
MODERN: Options = {
    key: values for key, values in ENCODER.items() if key != "max_position_embeddings"
} | {"pad_token_id": [0]}
MODERN_MAY: Options = {
    "norm_bias": FLAG, "attention_bias": FLAG, "mlp_bias": FLAG, "classifier_bias": FLAG,
    "decoder_bias": FLAG, "tie_word_embeddings": FLAG, "num_hidden_layers": [7],
    "global_attn_every_n_layers": [2],
}  # fmt: skip
DISTIL: Options = {
    "dim": [64, 96], "n_layers": [2, 1], "n_heads": [4, 8], "hidden_dim": [100],
    "vocab_size": [300], "max_position_embeddings": [40],
}  # fmt: skip
EARS: Options = STACKS | {
    "max_source_positions": [50], "max_target_positions": [20, 30], "num_mel_bins": [20, 80],
    "decoder_start_token_id": [1],
}  # fmt: skip
del EARS["max_position_embeddings"]

MASKED = ("Model", "ForMaskedLM")
LABELLED = (*MASKED, "ForCausalLM", "ForSequenceClassification")
BERT = (*MASKED, "LMHeadModel", "ForPreTraining", "ForSequenceClassification")
BOTH = ("Model", "ForConditionalGeneration")
THREE = (*BOTH, "EncoderModel")

CASES: dict[str, tuple[str, tuple[str, ...], Options, Options]] = {
    "bert": ("Bert", BERT, TYPED, ENCODER_MAY),
    "roberta": ("Roberta", LABELLED, TYPED, ENCODER_MAY),
    "xlm-roberta": ("XLMRoberta", LABELLED, TYPED, ENCODER_MAY),
    "camembert": ("Camembert", LABELLED, TYPED, ENCODER_MAY),
    "distilbert": ("DistilBert", (*MASKED, "ForSequenceClassification"), DISTIL,
                   {"tie_word_embeddings": FLAG, "id2label": [{"0": "a"}]}),
    "electra": ("Electra", (*MASKED, "ForCausalLM", "ForPreTraining"), TYPED,
                ENCODER_MAY | {"embedding_size": [32, 64, 96]}),
    "mpnet": ("MPNet", MASKED, ENCODER, {"relative_attention_num_buckets": [16]}),
    "deberta-v2": ("DebertaV2", MASKED, TYPED, DEBERTA_MAY),
    "modernbert": ("ModernBert", MASKED, MODERN, MODERN_MAY),
    "t5": ("T5", THREE, T5, {}), "mt5": ("MT5", THREE, T5, {}), "umt5": ("UMT5", THREE, T5, {}),
    "bart": ("Bart", BOTH, STACKS, STACKS_MAY), "plbart": ("PLBart", BOTH, STACKS, STACKS_MAY),
    "mbart": ("MBart", BOTH, STACKS, STACKS_MAY), "pegasus": ("Pegasus", BOTH, STACKS, STACKS_MAY),
    "blenderbot": ("Blenderbot", BOTH, STACKS, STACKS_MAY),
    "blenderbot-small": ("BlenderbotSmall", BOTH, STACKS, STACKS_MAY),
    "m2m_100": ("M2M100", BOTH, STACKS, STACKS_MAY),
    "marian": ("Marian", ("Model", "MTModel"), STACKS, STACKS_MAY),
    "whisper": ("Whisper", BOTH, EARS, {"tie_word_embeddings": FLAG}),
}  # fmt: skip
"""Start of the class name, heads, keys that every variant has, keys that it may have."""


def variants(model_type: str) -> list[dict[str, Any]]:
    """Class defaults for every head, and seeded small configs."""
    prefix, heads, base, may = CASES[model_type]
    rng = random.Random(model_type)  # noqa: S311 (the same variants every time)
    made = [{"model_type": model_type, "architectures": [prefix + head]} for head in heads]
    for _ in range(VARIANTS):
        data: dict[str, Any] = dict(made[rng.randrange(len(heads))])
        data |= {key: rng.choice(values) for key, values in base.items()}
        some = rng.sample(sorted(may), rng.randint(0, len(may)))
        made.append(data | {key: rng.choice(may[key]) for key in some})
    return made


def learned(data: dict[str, Any]) -> int | None:
    """The parameters of the real class, tied ones once; None where the class refuses the config."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        import transformers

        config = transformers.CONFIG_MAPPING[data["model_type"]]
        try:
            made = config.from_dict(json.loads(json.dumps(data)))
            with torch.device("meta"):
                built = getattr(transformers, data["architectures"][0])._from_config(made)
        except Exception:  # noqa: BLE001 (any error means that no such model exists)
            return None
    return sum(int(weight.numel()) for weight in built.parameters()) + untied(data, made)


def untied(data: dict[str, Any], made: Any) -> int:
    """The head that T5 v1.1 and mT5 publish and that the class of transformers 5 ties away."""
    own = data["model_type"] in ("t5", "mt5") and data.get("tie_word_embeddings") is False
    generates = data["architectures"][0].endswith("ForConditionalGeneration")
    return made.vocab_size * made.d_model if own and generates else 0


@pytest.mark.parametrize("model_type", CASES)
def test_variants_count_like_their_class(model_type: str) -> None:
    """Every variant is refused or counted to the integer, and most are counted."""
    agreed = 0
    for data in variants(model_type):
        try:
            found = count(lower(card_from_config(data, "m", "c"))).total
        except InvalidFileError:
            continue
        truth = learned(data)
        if truth is not None:
            assert found == truth, data
            agreed += 1
    assert agreed > VARIANTS // 2
