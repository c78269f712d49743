r"""Softmax attention, from one head a query to one key head for all.

MHA  q q q q     GQA  q q q q     MQA  q q q q
     | | | |           \|   \|          \ \/ /
     k k k k            k    k             k
"""

from __future__ import annotations

from llmcalc.blueprint.context import Context, norm
from llmcalc.blueprint.operations import AttentionProduct, Cache, Elementwise, Matmul, Operation
from llmcalc.blueprint.weight import Weight, weight
from llmcalc.spec.parts import Attention


def lower_attention(part: Attention, context: Context) -> tuple[Operation, ...]:
    """The operations of one attention part."""
    dims = attention_dims(part, context.hidden_size)
    h, h_kv = dims["h"], dims["h_kv"]
    gate = (_project("gate", "h·d_v, d", dims, h, None),) if part.output_gate else ()
    return (
        _project("q", "h·d_k, d", dims, h, "h·d_k" if part.qkv_bias else None),
        _project("k", "h_kv·d_k, d", dims, h_kv, "h_kv·d_k" if part.qkv_bias else None),
        _project("v", "h_kv·d_v, d", dims, h_kv, "h_kv·d_v" if part.qkv_bias else None),
        *gate,
        *_qk_norms(part, dims, context),
        Cache(
            name="kv", text="h_kv·(d_k + d_v)", dims=dims, window=part.window,
            elements=h_kv * (dims["d_k"] + dims["d_v"]), units=h_kv,
        ),
        AttentionProduct(
            name="attention", heads=h, qk_dim=dims["d_k"], v_dim=dims["d_v"], window=part.window,
            weights=_sinks(dims, h) if part.sinks else (),
        ),
        Matmul(
            name="o", weight=weight("o_proj", "d, h·d_v", dims, "attention", units=h, axis=1),
            bias=weight("o_proj.bias", "d", dims, "attention", "bias") if part.o_bias else None,
            to_residual=True,
        ),
    )  # fmt: skip


def attention_dims(part: Attention, hidden_size: int) -> dict[str, int]:
    """The symbols of the field with this part's values."""
    d_k = part.head_dim or hidden_size // part.num_heads
    return {
        "d": hidden_size,
        "h": part.num_heads,
        "h_kv": part.num_kv_heads or part.num_heads,
        "d_k": d_k,
        "d_v": part.v_head_dim or d_k,
    }


def _project(name: str, text: str, dims: dict[str, int], units: int, bias: str | None) -> Matmul:
    return Matmul(
        name=name,
        weight=weight(f"{name}_proj", text, dims, "attention", units=units),
        bias=_bias(f"{name}_proj.bias", bias, dims, units) if bias else None,
    )


def _bias(name: str, text: str, dims: dict[str, int], units: int) -> Weight:
    return weight(name, text, dims, "attention", "bias", units=units)


def _sinks(dims: dict[str, int], h: int) -> tuple[Weight, ...]:
    return (weight("sinks", "h", dims, "attention", "other", units=h),)


def _qk_norms(part: Attention, dims: dict[str, int], context: Context) -> tuple[Elementwise, ...]:
    if part.qk_norm == "head":
        return norm("q_norm", "d_k", dims, context.norm), norm("k_norm", "d_k", dims, context.norm)
    if part.qk_norm == "full":
        return norm("q_norm", "h·d_k", dims, context.norm), norm(
            "k_norm", "h_kv·d_k", dims, context.norm
        )
    return ()
