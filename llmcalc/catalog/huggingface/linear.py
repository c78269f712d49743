"""Hybrids of linear and full attention: Qwen3-Next, Kimi Linear, MiniMax-01, OLMo Hybrid."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.hybrid import LINEAR, layer_kinds, pairs
from llmcalc.catalog.huggingface.parts import (
    FULL,
    Body,
    attention,
    biased,
    block,
    body,
    mlp,
    moe,
    rotary_dim,
)
from llmcalc.catalog.huggingface.recurrent import kernel, numerics


def qwen3_next(c: Config) -> Body:
    """Gated delta nets with gated attention at each fourth layer, experts after each."""
    kinds, experts = hybrid_kinds(c), _qwen_experts(c)
    names = [
        f"{'attn' if kind == FULL else 'delta'}_{'moe' if many and experts else 'mlp'}"
        for kind, many in zip(kinds, _sparse(c), strict=True)
    ]
    parts = {"attn": gated_attention(c), "delta": delta(c), "mlp": mlp(c)}
    return body(c, names, pairs(names, parts | experts))


def hybrid_kinds(c: Config) -> list[str]:
    """Linear layers with full attention at each full_attention_interval-th, or as listed."""
    period = 4 if c.value("full_attention_interval") is None else c.size("full_attention_interval")
    return layer_kinds(c, [LINEAR if (i + 1) % period else FULL for i in range(c.layer_count())])


def gated_attention(c: Config) -> dict[str, Any]:
    """Attention with a norm over each head and a gate of its output; a quarter rotates."""
    c.fixed("attention_bias", only=False)
    c.fixed("attn_output_gate", only=True)
    return attention(c, qk_norm="head", output_gate=True, rotary_dim=rotary_dim(c, 0.25))


def delta(c: Config) -> dict[str, Any]:
    """The `gated_deltanet` part from the keys that begin with linear_."""
    return _delta_part(
        c,
        c.size("linear_num_key_heads"),
        c.size("linear_num_value_heads"),
        c.size("linear_key_head_dim"),
        c.size("linear_value_head_dim"),
    )


def state_dtype(c: Config, key: str) -> dict[str, str]:
    """What the config asks engines to keep recurrent states in, where it is not the model's."""
    return {"state_dtype": "fp32"} if c.value(key) == "float32" else {}


def _delta_part(c: Config, k_heads: int, v_heads: int, k_dim: int, v_dim: int) -> dict[str, Any]:
    numerics(c)
    if v_heads % k_heads:
        raise c.bad(f"{v_heads} value heads do not divide by {k_heads} key heads")
    part = {"num_k_heads": k_heads, "num_v_heads": v_heads}
    part |= {"head_k_dim": k_dim, "head_v_dim": v_dim}
    return {"gated_deltanet": part | kernel(c.size("linear_conv_kernel_dim"))}


def _sparse(c: Config) -> list[bool]:
    """Whether each layer may have experts."""
    step, dense = c.size("decoder_sparse_step"), set(c.numbers("mlp_only_layers") or ())
    return [i not in dense and (i + 1) % step == 0 for i in range(c.layer_count())]


def _qwen_experts(c: Config) -> dict[str, Any]:
    """The `moe` part under its name, or nothing without experts."""
    experts, top_k = c.count("num_experts"), c.value("num_experts_per_tok")
    for key in ("moe_intermediate_size", "shared_expert_intermediate_size"):
        c.value(key)
    if not experts:
        return {}
    top_k, size = c.size("num_experts_per_tok"), c.size("moe_intermediate_size")
    shared = c.size("shared_expert_intermediate_size")
    part = moe(c, experts, top_k, size, shared_intermediate_size=shared, shared_gate=True)
    return {"moe": part}


def olmo_hybrid(c: Config) -> Body:
    """Gated delta nets under a norm, and attention whose output is normed, as in OLMo 2."""
    count = c.layer_count()
    kinds = [FULL if i % 4 == 3 else LINEAR for i in range(count)]  # noqa: PLR2004 (each fourth)
    kinds = kinds if FULL in kinds else [*kinds[:-1], FULL]
    kinds = layer_kinds(c, kinds)
    if len(set(kinds)) == 1:
        raise c.bad("layers of one kind only, and the class wants both")
    for key in "a_log_min a_log_max dt_min dt_max dt_init_floor allow_neg_eigval".split():  # noqa: SIM905 (a table)
        c.value(f"linear_{key}")
    c.fixed("qk_norm", only=True)
    heads = c.size("num_attention_heads")
    k_heads = c.maybe_size("linear_num_key_heads") or heads
    v_heads = c.maybe_size("linear_num_value_heads") or heads
    k_dim = c.maybe_size("linear_key_head_dim") or int(0.75 * c.size("hidden_size") / k_heads)
    v_dim = c.maybe_size("linear_value_head_dim") or 2 * k_dim
    net = _delta_part(c, k_heads, v_heads, k_dim, v_dim)
    part = attention(c, qk_norm="full", rotary_dim=_olmo_rotary(c), **biased(c))
    blocks = {"delta": block(net, mlp(c)), "attn": block(part, mlp(c), placement="output")}
    return body(c, ["attn" if one == FULL else "delta" for one in kinds], blocks)


def _olmo_rotary(c: Config) -> int | None:
    """All of a head rotates where the file gives an angle, nothing where it does not."""
    rope = c.value("rope_parameters")
    given = c.value("rope_theta") if not isinstance(rope, dict) else rope.get("rope_theta")
    return 0 if given is None else None


def minimax(c: Config) -> Body:
    """Lightning attention and softmax attention in turn, experts after each."""
    count = c.layer_count()
    kinds = layer_kinds(c, [LINEAR if i % 2 else FULL for i in range(count)])
    return _minimax(c, kinds, rotary=None)


def minimax_text_01(c: Config) -> Body:
    """MiniMax-01 in the authors' own code: attn_type_list says which layers are softmax."""
    for key in _MINIMAX_SIZES:
        if not c.says(key):
            raise c.wrong(key, "since this class lives outside transformers")
    count, listed = c.layer_count(), c.numbers("attn_type_list") or []
    if len(listed) != count or not set(listed) <= {0, 1}:
        raise c.bad(f"attn_type_list must hold 0 or 1 for each of {count} layers")
    c.agrees("shared_intermediate_size", 0)
    for key in ("postnorm", "shared_moe_mode", "rotary_dim"):
        c.value(key)
    for kind in ("linear_attention", "full_attention", "mlp"):
        for greek in ("alpha", "beta"):
            c.value(f"layernorm_{kind}_{greek}")
    rotary = c.maybe_size("rotary_dim")
    return _minimax(c, [FULL if one else LINEAR for one in listed], rotary=rotary)


def minimax_m1(c: Config) -> Body:
    """MiniMax-M1, which has the architecture of MiniMax-01."""
    return minimax_text_01(c)


_MINIMAX_SIZES = """hidden_size intermediate_size num_hidden_layers num_attention_heads
num_key_value_heads head_dim num_local_experts num_experts_per_tok vocab_size hidden_act
attn_type_list""".split()  # noqa: SIM905 (a table)


def _minimax(c: Config, kinds: list[str], *, rotary: int | None) -> Body:
    for kind in ("full_attn", "linear_attn", "mlp"):
        for greek in ("alpha", "beta"):
            c.value(f"{kind}_{greek}_factor")
    c.value("block_size")
    part = attention(c, rotary_dim=rotary, window=c.length("sliding_window"))
    heads = c.size("num_attention_heads")
    head_dim = c.maybe_size("head_dim") or c.size("hidden_size") // heads
    lightning = {"lightning": {"num_heads": heads, "head_dim": head_dim}}
    experts, top_k = c.size("num_local_experts"), c.size("num_experts_per_tok")
    feed = moe(c, experts, top_k, c.size("intermediate_size"))
    blocks = {"lightning": block(lightning, feed), "softmax": block(part, feed)}
    return body(c, ["softmax" if one == FULL else "lightning" for one in kinds], blocks)
