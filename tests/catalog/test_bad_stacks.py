"""Malformed encoders, towers and parts of every kind: one problem a mistake, on its line."""

from __future__ import annotations

import pytest

from llmcalc.catalog.validate import validate
from llmcalc.catalog.yamlfile import read
from llmcalc.errors import InvalidFileError
from llmcalc.spec.card import ModelCard
from tests.catalog.conftest import STACKED
from tests.catalog.test_bad_files import Bad, check

SEES = "- attn: {num_heads: 8, num_kv_heads: 4}"
LAST = "  - {name: ears, modality: audio, params: 1000}"
INDEXER = "indexer: {num_heads: 4, head_dim: 8, topk: 64}"
MLA = "kv_lora_rank: 8, qk_nope_head_dim: 8, qk_rope_head_dim: 4, v_head_dim: 8"
RESTS = "- attn: {num_heads: 8, head_dim: 16, k_eq_v: true}"
CARDS = [
    Bad(SEES, "- attn: {num_heads: 10}", 29, "10 does not divide hidden_size 64", "say head_dim"),
    Bad(
        SEES, "- attn: {num_heads: 8, num_kv_heads: 3}", 29, "encoder.blocks.sees.parts[0].attn.num"
    ),
    Bad(SEES, "- atn: {num_heads: 8}", 29, "atn is no kind of part", "mean attn?"),
    Bad(SEES, "- attn: {heads: 8, num_heads: 8}", 29, "heads is no key", "mean num_heads?"),
    Bad(SEES, f"- mla: {{num_heads: 4, {MLA}}}", 29, "keeps a cache", "only attn, mlp and moe"),
    Bad(SEES, "- kda: {num_heads: 4, head_dim: 8}", 29, "keeps a state, and these layers see all"),
    Bad(
        SEES,
        "- attn: {num_heads: 8, cross: true}",
        29,
        "this is no decoder",
        "blocks of the decoder",
    ),
    Bad(
        SEES,
        "- attn: {num_heads: 8, kv_reuse: true}",
        29,
        "see all tokens and keep none",
        "kv_reuse",
    ),
    Bad("[4*sees]", "[4*seas]", 31, "encoder.layers[0] names 'seas'", "mean sees?"),
    Bad("[4*sees]", "[]", 31, "encoder.layers is empty", "[32*dense]"),
    Bad("length: 1500", "length: 0", 32, "encoder.length must be a whole number from 1"),
    Bad("length: 1500", "lenght: 1500", 32, "lenght is no key", "mean length?"),
    Bad("length: 1500", "hidden_size: 32", 32, "32 is not the hidden_size 64 of the card"),
    Bad("[64, 80, 3]", "[99999999, 99999999]", 33, "encoder.extra[0].shape means", "correct"),
    Bad("num_heads: 6, rotary", "num_heads: 7, rotary", 41, "7 does not divide hidden_size 48"),
    Bad("rotary_dim: 8}", "rotary_dim: 9}", 41, "9 is more than head_dim 8"),
    Bad(
        "[2*patch]",
        "[2*patch, more]",
        43,
        "towers[0].stack.layers[1] names 'more'",
        "known are patch",
    ),
    Bad("  - name: eyes\n", "  - name: eyes\n    params: 7\n", 36, "counts what stack itemises"),
    Bad(
        LAST, "  - {name: ears, modality: audio}", 44, "has neither stack nor params", "say params"
    ),
    Bad(LAST, "  - {name: eyes, params: 7}", 44, "eyes is taken", "a name of its own"),
    Bad(LAST, "  - {name: ears, modality: sound, params: 7}", 44, "must be vision or audio"),
    Bad(LAST, "  - 7", 44, "towers[1] must be a mapping of keys to values, not 7"),
    Bad("per_tok: 5", "per_tok: 7", 12, "7 is more than num_experts 4 and zero_experts 2"),
    Bad("cross: true", "cross: true, window: 9", 11, "has no meaning for cross-attention"),
    Bad("8, cross: true", "8", 25, "encoder is never looked at", "cross: true"),
    Bad("k_eq_v: true", "k_eq_v: true, v_head_dim: 8", 16, "needs a v_head_dim of head_dim 16"),
    Bad("n_groups: 2", "n_groups: 3", 17, "3 does not divide num_heads 8", "each group"),
    Bad("num_k_heads: 2", "num_k_heads: 3", 22, "3 does not divide num_v_heads 4", "each key head"),
    Bad("num_k_heads: 2, ", "", 22, "num_k_heads is missing", "add `num_k_heads: …`"),
    Bad("shape: [64]", "shape: [64]}, {name: gate, shape: [2]", 23, "gate is listed twice"),
    Bad("[2*looks, rests, reads]", "[reads, 2*looks, rests]", 21, "and none keeps one", "remove"),
    Bad(RESTS, f"- mla: {{num_heads: 4, {INDEXER[:-10]}}}, {MLA}}}", 16, "topk is missing"),
    Bad("layers: [2*looks", "mtp: {block: look}\nlayers: [2*looks", 24, "mtp.block names 'look'"),
]


@pytest.mark.parametrize("bad", CARDS, ids=lambda bad: bad.says)
def test_a_bad_stack_is_one_problem_on_its_line(bad: Bad) -> None:
    check(ModelCard, STACKED, bad)


def test_the_valid_card_is_valid() -> None:
    card = validate(ModelCard, read(STACKED, "x.yaml"))
    assert card.encoder is not None
    assert [tower.name for tower in card.towers] == ["eyes", "ears"]


def test_cross_attention_needs_an_encoder() -> None:
    text = STACKED[: STACKED.index("encoder:")]
    with pytest.raises(InvalidFileError, match=r":11: .*\.cross looks at an encoder"):
        validate(ModelCard, read(text, "bad.yaml"))


def test_a_model_with_an_encoder_decodes() -> None:
    with pytest.raises(InvalidFileError) as caught:
        validate(ModelCard, read(STACKED + "causal: false\n", "bad.yaml"))
    says = "bad.yaml:25: encoder needs a decoder, and causal is false"
    assert says in [one.message for one in caught.value.problems]


def test_an_encoder_of_states_is_refused() -> None:
    text = STACKED[: STACKED.index("encoder:")].replace(", cross: true", "") + "causal: false\n"
    with pytest.raises(InvalidFileError) as caught:
        validate(ModelCard, read(text, "bad.yaml"))
    lines = [one.message.split(":")[1] for one in caught.value.problems]
    assert lines == ["17", "21", "22"]


def test_a_card_that_sees_all_predicts_nothing() -> None:
    text = STACKED[: STACKED.index("  rests:")].replace(", cross: true", "")
    text += "layers: [looks]\nmtp: {block: looks}\ncausal: false\n"
    with pytest.raises(InvalidFileError, match=r":14: mtp needs a decoder, and causal is false"):
        validate(ModelCard, read(text, "bad.yaml"))
