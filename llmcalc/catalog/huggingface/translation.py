"""BART and its kin, and Whisper: encoder and decoder with biases everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llmcalc.catalog.huggingface.classes import head_of, ignored, layer_norm, tensor
from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.parts import Body, activation, block, said

_HEADS = ("Model", "ForConditionalGeneration")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """In what the classes that descend from BART differ."""

    prefix: str
    pre: bool = False
    """Norms before the parts, and one more behind each stack."""
    embedding_norm: bool = False
    positions: int | None = 0
    """Rows of the table of positions beside the context; None where the class keeps no table."""
    says: tuple[tuple[str, Any], ...] = ()
    """Keys of old files, and what the class builds whatever they say."""


def bart(c: Config) -> Body:
    """A norm behind each sum and behind each embedding; two rows of positions more."""
    return _stacks(c, _Shape(prefix="Bart", embedding_norm=True, positions=2))


def plbart(c: Config) -> Body:
    """BART for programs, with a norm behind each stack."""
    return _stacks(c, _Shape(prefix="PLBart", embedding_norm=True, positions=2))


def mbart(c: Config) -> Body:
    """BART of many languages: norms before the parts and behind each stack."""
    return _stacks(c, _Shape(prefix="MBart", pre=True, embedding_norm=True, positions=2))


def pegasus(c: Config) -> Body:
    """Norms before the parts; sinusoidal positions, which the class keeps as frozen parameters."""
    return _stacks(c, _Shape(prefix="Pegasus", pre=True))


def marian(c: Config) -> Body:
    """A norm behind each sum; sinusoidal positions, which the class keeps as frozen parameters."""
    c.fixed("share_encoder_decoder_embeddings", only=True)
    if c.value("decoder_vocab_size") is not None:
        c.agrees("decoder_vocab_size", c.size("vocab_size"))
    return _stacks(c, _Shape(prefix="Marian"))


def blenderbot(c: Config) -> Body:
    """Norms before the parts, learned positions."""
    c.fixed("layernorm_variant", only="prelayernorm")
    c.fixed("extra_layer_norm", only=False)
    ignored(c, "do_blenderbot_90_layernorm")
    return _stacks(c, _Shape(prefix="Blenderbot", pre=True))


def blenderbot_small(c: Config) -> Body:
    """A norm behind each sum and behind each embedding."""
    return _stacks(c, _Shape(prefix="BlenderbotSmall", embedding_norm=True))


def m2m_100(c: Config) -> Body:
    """Norms before the parts; sinusoidal positions that are computed."""
    return _stacks(c, _Shape(prefix="M2M100", pre=True, positions=None))


def _stacks(c: Config, shape: _Shape) -> Body:
    heads = ("Model", "MTModel") if shape.prefix == "Marian" else _HEADS
    head = head_of(c, shape.prefix, heads, heads[1])
    _old_keys(c, shape)
    if c.value("tie_word_embeddings") is False:
        raise c.bad("tie_word_embeddings false is not understood", "write a card by hand")
    d, context = c.size("d_model"), c.size("max_position_embeddings")
    rows = None if shape.positions is None else context + shape.positions
    extra = [tensor("embed_positions.weight", rows, d)] if rows else []
    extra += layer_norm("layernorm_embedding", d) if shape.embedding_norm else []
    return {
        **_ends(c, context, head),
        "embedding": said(
            {
                "tied": head != "Model",
                "positions": rows,
                "norm": shape.embedding_norm,
                "scale": "sqrt_hidden" if c.flag("scale_embedding") else None,
            }
        ),
        **_layers(c, "decoder", pre=shape.pre),
        "final_norm": shape.pre,
        "encoder": _layers(c, "encoder", pre=shape.pre)
        | {"final_norm": shape.pre}
        | ({"extra": extra} if extra else {}),
    }


def whisper(c: Config) -> Body:
    """Two convolutions before an encoder of fixed length; keys without a bias."""
    head = head_of(c, "Whisper", _HEADS, "ForConditionalGeneration")
    ignored(
        c, "use_weighted_layer_sum", "classifier_proj_size", "apply_spec_augment", "mask_time_prob",
        "mask_time_length", "mask_time_min_masks", "mask_feature_prob", "mask_feature_length",
        "mask_feature_min_masks", "median_filter_width", "forced_decoder_ids", "alignment_heads",
        "num_key_value_heads",
    )  # fmt: skip
    _old_keys(c, None)
    d, frames = c.size("d_model"), c.size("max_source_positions")
    tokens, mel = c.size("max_target_positions"), c.size("num_mel_bins")
    tied = c.flag("tie_word_embeddings") and head != "Model"
    extra = [tensor("conv1.weight", d, mel, 3), tensor("conv1.bias", d)]
    extra += [tensor("conv2.weight", d, d, 3), tensor("conv2.bias", d)]
    extra += [tensor("embed_positions.weight", frames, d)]
    scale = "sqrt_hidden" if c.flag("scale_embedding") else None
    stack = _layers(c, "encoder", pre=True, k_bias=False) | {"length": frames, "extra": extra}
    return {
        **_ends(c, tokens, head),
        "embedding": said({"tied": tied, "positions": tokens, "scale": scale}),
        **_layers(c, "decoder", pre=True, k_bias=False),
        "encoder": stack,
    }


def _ends(c: Config, context: int, head: str) -> Body:
    return {
        "hidden_size": c.size("d_model"),
        "vocab_size": c.size("vocab_size"),
        "max_position_embeddings": context,
        "norm": "layer",
    } | ({"head": False} if head == "Model" else {})


def _layers(c: Config, stack: str, *, pre: bool, k_bias: bool | None = None) -> dict[str, Any]:
    """The blocks of one stack; a decoder also looks at the encoder."""
    heads, d = c.size(f"{stack}_attention_heads"), c.size("d_model")
    if d % heads:
        raise c.bad(f"d_model {d} does not divide by {heads} {stack}_attention_heads")
    facts: dict[str, Any] = {"num_heads": heads, "qkv_bias": True, "o_bias": True, "rotary_dim": 0}
    if k_bias is not None:
        facts["k_bias"] = k_bias
    feed = {"intermediate_size": c.size(f"{stack}_ffn_dim"), "gated": False, "bias": True}
    mixers = [{"attn": facts}]
    if stack == "decoder":
        mixers.append({"attn": facts | {"cross": True}})
    parts = [*mixers, {"mlp": feed | activation(c, "activation_function")}]
    one = block(*parts, norms=len(parts), placement="pre" if pre else "post")
    count = c.layer_count(f"{stack}_layers")
    return {"blocks": {"layer": one}, "layers": [f"{count}*layer" if count > 1 else "layer"]}


def _old_keys(c: Config, shape: _Shape | None) -> None:
    """Accept keys of old files where they say what the class builds, refuse them where not."""
    ignored(c, "is_encoder_decoder", "num_hidden_layers", "add_bias_logits", "classif_dropout")
    ignored(c, "static_position_embeddings", "extra_pos_embeddings")
    if shape is None:
        return
    c.fixed("normalize_before", only=shape.pre)
    c.fixed("add_final_layer_norm", only=shape.pre)
    c.fixed("normalize_embedding", only=shape.embedding_norm)
