r"""Softmax attention, from one head a query to one key head for all.

MHA  q q q q     GQA  q q q q     MQA  q q q q
     | | | |           \|   \|          \ \/ /
     k k k k            k    k             k
"""

from __future__ import annotations

from llmcalc.blueprint.context import Context, norm
from llmcalc.blueprint.operations import (
    AttentionProduct,
    Cache,
    Elementwise,
    Matmul,
    Operation,
    State,
    Stream,
)
from llmcalc.blueprint.weight import Weight, weight
from llmcalc.spec.parts import Attention


def lower_attention(part: Attention, context: Context) -> tuple[Operation, ...]:
    """The operations of one attention part."""
    dims = attention_dims(part, context.hidden_size)
    h, h_kv = dims["h"], dims["h_kv"]
    return (
        _project("q", "h·d_k", dims, h, bias=part.qkv_bias),
        *_looked_at(part, dims, h_kv),
        *((_gate(dims, h),) if part.output_gate else ()),
        *_qk_norms(part, dims, context),
        *_memory(part, dims, context),
        AttentionProduct(
            name="attention", heads=h, qk_dim=dims["d_k"], v_dim=dims["d_v"], window=part.window,
            mask="cross" if part.cross else "causal" if context.causal else "full",
            flash=not (part.sinks or part.relative_buckets), weights=_tables(part, dims, h),
            rotated=part.rotary_dim != 0,
        ),
        Matmul(
            name="o", weight=weight("o_proj", "d, h·d_v", dims, "attention", units=h, axis=1),
            bias=weight("o_proj.bias", "d", dims, "attention", "bias") if part.o_bias else None,
            to_residual=True,
        ),
    )  # fmt: skip


def _looked_at(part: Attention, dims: dict[str, int], h_kv: int) -> tuple[Operation, ...]:
    """Projections to keys and values; weights without arithmetic where another's cache is read."""
    source: Stream | None = "encoder" if part.cross else None
    k_bias = part.qkv_bias if part.k_bias is None else part.k_bias
    k = _project("k", "h_kv·d_k", dims, h_kv, bias=k_bias, stream=source)
    v = _project("v", "h_kv·d_v", dims, h_kv, bias=part.qkv_bias, stream=source)
    both = (k,) if part.k_eq_v else (k, v)
    if part.kv_reuse:
        return tuple(Elementwise(name=f"idle_{one.name}", weights=one.weights) for one in both)
    return both


def _memory(part: Attention, dims: dict[str, int], context: Context) -> tuple[Cache | State, ...]:
    """What is kept of the tokens looked at; an encoder keeps nothing, a reused cache is another's.

    Cross-attention to an encoder of fixed length keeps as much whatever the sequence.
    """
    if part.kv_reuse or not (context.causal or part.cross):
        return ()
    text, h_kv = "h_kv·(d_k + d_v)", dims["h_kv"]
    elements = h_kv * (dims["d_k"] + dims["d_v"])
    if part.cross and context.encoder_length:
        dims = dims | {"s_enc": context.encoder_length}
        fixed = elements * context.encoder_length
        keys = h_kv * dims["d_k"] * context.encoder_length
        return (
            State(
                name="kv", text=f"s_enc·{text}", dims=dims, elements=fixed, units=h_kv,
                tokens=context.encoder_length, keys=keys,
            ),
        )  # fmt: skip
    return (
        Cache(
            name="kv", text=text, dims=dims, elements=elements, units=h_kv,
            keys=h_kv * dims["d_k"], window=part.window, chunked=part.chunked,
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


def _project(
    name: str,
    rows: str,
    dims: dict[str, int],
    units: int,
    *,
    bias: bool,
    stream: Stream | None = None,
) -> Matmul:
    return Matmul(
        name=name,
        weight=weight(f"{name}_proj", f"{rows}, d", dims, "attention", units=units),
        bias=weight(f"{name}_proj.bias", rows, dims, "attention", "bias", units=units)
        if bias
        else None,
        stream=stream,
    )


def _gate(dims: dict[str, int], h: int) -> Matmul:
    """What the output is multiplied with; not the gate of a feed-forward part."""
    return _project("gate", "h·d_v", dims, h, bias=False)._replace(name="output_gate")


def _tables(part: Attention, dims: dict[str, int], h: int) -> tuple[Weight, ...]:
    """Learned numbers added to the scores: one a head, or one a head and distance."""
    sinks = (weight("sinks", "h", dims, "attention", "other", units=h),) if part.sinks else ()
    if not part.relative_buckets:
        return sinks
    wide = dims | {"buckets": part.relative_buckets}
    table = weight("relative_bias", "buckets, h", wide, "attention", "other", units=h, axis=1)
    return (*sinks, table)


def _qk_norms(part: Attention, dims: dict[str, int], context: Context) -> tuple[Elementwise, ...]:
    if part.qk_norm == "head":
        return norm("q_norm", "d_k", dims, context.norm), norm("k_norm", "d_k", dims, context.norm)
    if part.qk_norm == "full":
        return norm("q_norm", "h·d_k", dims, context.norm), norm(
            "k_norm", "h_kv·d_k", dims, context.norm
        )
    return ()
