"""T5 and its kin: encoder and decoder with relative positions, RMS norms and no biases."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.classes import head_of, ignored
from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.layers import compress
from llmcalc.catalog.huggingface.parts import Body, block

_HEADS = ("Model", "ForConditionalGeneration", "EncoderModel")
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_new": "gelu", "silu": "silu"}


def t5(c: Config) -> Body:
    """Positions only as a table of distances in the first layer of each stack."""
    head = head_of(c, "T5", (*_HEADS, "WithLMHeadModel"), "ForConditionalGeneration")
    return _t5(c, head, tied=c.value("tie_word_embeddings") is None or _tied(c))


def mt5(c: Config) -> Body:
    """T5 v1.1 of a hundred languages; the published weights have a head of their own."""
    head = head_of(c, "MT5", _HEADS, "ForConditionalGeneration")
    if head == "ForConditionalGeneration" and not c.says("tie_word_embeddings"):
        what = "tie_word_embeddings is missing, and versions of the class disagree about it"
        raise c.bad(what, 'the published weights are "tie_word_embeddings": false')
    return _t5(c, head, tied=_tied(c))


def umt5(c: Config) -> Body:
    """mT5 with distances in every layer."""
    head = head_of(c, "UMT5", _HEADS, "ForConditionalGeneration")
    if head == "ForConditionalGeneration" and c.value("tie_word_embeddings") is False:
        what = "tie_word_embeddings false is not understood: the class ties, and scales otherwise"
        raise c.bad(what, "write a card by hand")
    ignored(c, "tie_word_embeddings")
    return _t5(c, head, tied=True, everywhere=True)


def _tied(c: Config) -> bool:
    return c.flag("tie_word_embeddings")


def _t5(c: Config, head: str, *, tied: bool, everywhere: bool = False) -> Body:
    ignored(c, "n_positions", "relative_attention_max_distance", "is_encoder_decoder")
    c.fixed("is_decoder", only=False)
    feed = _feed(c)
    layers = c.layer_count("num_layers")
    encoder = _stack(c, feed, layers, decoder=False, everywhere=everywhere)
    card: Body = {"hidden_size": c.size("d_model"), "vocab_size": c.size("vocab_size")}
    if head == "EncoderModel":
        c.maybe_size("num_decoder_layers")
        return card | {"head": False, "causal": False} | encoder
    count = layers if c.value("num_decoder_layers") is None else c.layer_count("num_decoder_layers")
    decoder = _stack(c, feed, count, decoder=True, everywhere=everywhere)
    ends: Body = {"head": False} if head == "Model" else {}
    if head != "Model" and tied:
        ends = {"embedding": {"tied": True}}
    return card | ends | decoder | {"encoder": encoder}


def _stack(
    c: Config, feed: dict[str, Any], layers: int, *, decoder: bool, everywhere: bool
) -> dict[str, Any]:
    """Blocks and layers of one stack, its first layer with the table of distances."""
    buckets = {"relative_buckets": c.size("relative_attention_num_buckets")}
    cross = [_attention(c, cross=True)] if decoder else []

    def made(**more: Any) -> dict[str, Any]:
        return block(_attention(c, **more), *cross, feed, norms=3 if decoder else 2)

    if everywhere:
        return {"blocks": {"layer": made(**buckets)}, "layers": [f"{layers}*layer"]}
    if layers == 1:
        return {"blocks": {"first": made(**buckets)}, "layers": ["first"]}
    names = compress(["first"] + ["rest"] * (layers - 1))
    return {"blocks": {"first": made(**buckets), "rest": made()}, "layers": list(names)}


def _attention(c: Config, **more: Any) -> dict[str, Any]:
    heads, size, d = c.size("num_heads"), c.size("d_kv"), c.size("d_model")
    wide = {} if heads * size == d else {"head_dim": size}
    return {"attn": {"num_heads": heads} | wide | {"rotary_dim": 0} | more}


def _feed(c: Config) -> dict[str, Any]:
    """`relu` is plain, `gated-gelu` has a third matrix."""
    told = c.word("feed_forward_proj") or ""
    act = told.removeprefix("gated-")
    gated = act != told
    if act not in _ACTIVATIONS:
        raise c.wrong("feed_forward_proj", "like relu or gated-gelu")
    c.fixed("is_gated_act", only=gated)
    derived = c.word("dense_act_fn")
    if derived is not None and _ACTIVATIONS.get(derived) != _ACTIVATIONS[act]:
        raise c.bad(f"dense_act_fn {derived:.40} and feed_forward_proj differ")
    part: dict[str, Any] = {"intermediate_size": c.size("d_ff")}
    if not gated:
        part["gated"] = False
    if _ACTIVATIONS[act] != "silu":
        part["activation"] = _ACTIVATIONS[act]
    return {"mlp": part}
