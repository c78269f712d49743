"""Parts and blocks of a card from the keys that most configs share."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.layers import compress

Body = dict[str, Any]
"""The part of a card that says the architecture, as plain data."""

Block = dict[str, Any]
FULL, SLIDING = "full_attention", "sliding_attention"
_ACTIVATIONS = {
    "silu": "silu", "swish": "silu", "relu": "relu", "relu2": "relu2", "gelu": "gelu",
    "gelu_new": "gelu", "gelu_fast": "gelu", "gelu_pytorch_tanh": "gelu", "quick_gelu": "gelu",
}  # fmt: skip


def activation(c: Config, *keys: str) -> dict[str, str]:
    """The activation by the first of `keys` that has one; silu, the card's default, is left out."""
    keys = keys or ("hidden_act",)
    key = next((key for key in keys if c.word(key) is not None), keys[0])
    for other in keys:
        c.value(other)
    name = c.word(key)
    if name not in _ACTIVATIONS:
        raise c.wrong(key, f"one of {', '.join(_ACTIVATIONS)}")
    kind = _ACTIVATIONS[name]
    return {} if kind == "silu" else {"activation": kind}


def head_dim(c: Config) -> int:
    """Size of a query head: as written, else hidden_size / heads, which must divide."""
    heads, hidden = c.size("num_attention_heads"), c.size("hidden_size")
    given = c.maybe_size("head_dim")
    if given is None and c.defaults.get("head_dim") is not None:
        raise c.wrong("head_dim", "since this class has no rule for one that is null")
    if given is None and hidden % heads:
        message = f"hidden_size {hidden} does not divide by {heads} attention heads"
        raise c.bad(message, "correct one of them or give head_dim")
    return given or hidden // heads


def attention(c: Config, *, kv_heads: int | None = None, **more: Any) -> dict[str, Any]:
    """The `attn` part; `kv_heads` where the config does not say num_key_value_heads itself."""
    heads = c.size("num_attention_heads")
    kv = kv_heads or c.maybe_size("num_key_value_heads") or heads
    if heads % kv:
        raise c.bad(f"{heads} attention heads do not divide by {kv} key and value heads")
    part: dict[str, Any] = {"num_heads": heads}
    if kv != heads:
        part["num_kv_heads"] = kv
    dim = head_dim(c)
    if dim * heads != c.size("hidden_size"):
        part["head_dim"] = dim
    return {"attn": part | said(more)}


def biased(c: Config, key: str = "attention_bias") -> dict[str, bool]:
    """Biases of all four projections, or of none."""
    return {"qkv_bias": c.flag(key), "o_bias": c.flag(key)}


def mlp(
    c: Config,
    size: int | None = None,
    *,
    gated: bool = True,
    acts: tuple[str, ...] = (),
    **more: Any,
) -> dict[str, Any]:
    """The `mlp` part, of intermediate_size where no size is given."""
    part: dict[str, Any] = {"intermediate_size": size or c.size("intermediate_size")}
    if not gated:
        part["gated"] = False
    return {"mlp": part | activation(c, *acts) | said(more)}


def moe(c: Config, experts: int, top_k: int, size: int, **more: Any) -> dict[str, Any]:
    """The `moe` part. Raises InvalidFileError where a token visits more experts than there are."""
    if top_k > experts:
        raise c.bad(f"a token cannot visit {top_k} of {experts} experts")
    part = {"num_experts": experts, "num_experts_per_tok": top_k, "intermediate_size": size}
    act = {} if "activation" in more else activation(c)
    return {"moe": part | act | said(more)}


def said(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts that a card has to say: those that are neither false nor nothing."""
    return {key: value for key, value in facts.items() if value is not None and value is not False}


def block(*parts: dict[str, Any], norms: int = 2, placement: str = "pre") -> Block:
    """A block, its defaults left out."""
    asked = {"norms": norms, "placement": placement}
    usual = {"norms": 2, "placement": "pre"}
    return {k: v for k, v in asked.items() if v != usual[k]} | {"parts": list(parts)}


def rotary_dim(c: Config, factor: float = 1.0, key: str = "partial_rotary_factor") -> int | None:
    """Dimensions of a head that rotate, None for all, of a class that heeds partial rotation.

    A class has a frequency for every second dimension, an odd last one too, and each turns a pair.
    """
    ropes = [c.value(one) for one in ("rope_parameters", "rope_scaling")]
    inside = [rope.get("partial_rotary_factor") for rope in ropes if isinstance(rope, dict)]
    for given in (*inside, c.value(key)):
        if given is not None:
            if type(given) not in (int, float) or not 0 <= given <= 1:
                raise c.bad(f"{key} must be a number from 0 to 1, not {given!r:.40}")
            factor = given
            break
    if factor == 1:
        return None
    rotating = int(head_dim(c) * factor)
    return rotating + rotating % 2


def body(c: Config, names: list[str], blocks: dict[str, Block], **more: Any) -> Body:
    """The architecture: sizes, embedding and the blocks that `names` use, layer by layer.

    `more` are further keys of the card; `embedding` is joined with what tie_word_embeddings says.
    """
    tied = {"tied": True} if c.flag("tie_word_embeddings") else {}
    limit = more.pop("limit", "max_position_embeddings")
    used = dict.fromkeys(names)
    return (
        said(
            {
                "hidden_size": c.size("hidden_size"),
                "vocab_size": c.size("vocab_size"),
                "max_position_embeddings": c.length(limit) if limit else None,
                "embedding": (tied | more.pop("embedding", {})) or None,
                "blocks": {name: one for name, one in blocks.items() if name in used},
                "layers": list(compress(names)),
            }
        )
        | more
    )


def uniform(c: Config, one: Block, *, called: str = "dense", **more: Any) -> Body:
    """All layers alike."""
    return body(c, [called] * c.layer_count(), {called: one}, **more)


def layer_types(
    c: Config, otherwise: list[str], known: tuple[str, ...] = (FULL, SLIDING)
) -> list[str]:
    """The kind of attention of every layer: as written, else as the class derives it."""
    given = c.value("layer_types")
    if given is None:
        return otherwise
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise c.wrong("layer_types", "a list of texts")
    types = [FULL if one == "attention" else str(one) for one in given]
    unknown = next((one for one in types if one not in known), None)
    if unknown:
        raise c.bad(f"layer_types holds {unknown:.60}", f"understood here are {', '.join(known)}")
    if len(types) != c.layer_count():
        raise c.bad(f"layer_types has {len(types)} entries for {c.layer_count()} layers")
    return types


def every(c: Config, period: int) -> list[str]:
    """Sliding layers with full attention at each `period`-th, none with a period of 0."""
    return [SLIDING if period and (i + 1) % period else FULL for i in range(c.layer_count())]


def sliding_window(c: Config, types: list[str]) -> int | None:
    """The window of the sliding layers. Raises InvalidFileError where some slide without one."""
    window = c.length("sliding_window")
    if window is None and SLIDING in types:
        raise c.bad("sliding_window is missing", "some layers slide: add how many tokens they see")
    return window


def windowed(c: Config, types: list[str], local: Block, world: Block, **more: Any) -> Body:
    """Layers that see a window (`local`) among layers that see all (`global`)."""
    if SLIDING not in types:
        return uniform(c, world, **more)
    if FULL not in types:
        return uniform(c, local, called="local", **more)
    names = ["local" if one == SLIDING else "global" for one in types]
    return body(c, names, {"local": local, "global": world}, **more)
