"""What attention keeps for the backward pass, by the kernel that computes it."""

from __future__ import annotations

from dataclasses import replace

from llmcalc.blueprint.attention import attention_dims
from llmcalc.blueprint.context import Context
from llmcalc.blueprint.keeping.tensor import (
    Kept,
    Passing,
    Per,
    Runs,
    by_norm,
    kept,
    let_go,
)
from llmcalc.spec.parts import Attention, LatentAttention

OUT = ("o",)
"""The projection behind attention."""

FLASH_RNG, EFFICIENT_RNG = 24, 16
"""Bytes of random state that torch's flash and memory-efficient kernels keep, dropout or not."""


def kept_by_attention(part: Attention, context: Context) -> tuple[Kept, ...]:
    """Queries, keys, values and output; scores where no fused kernel computes them."""
    dims = attention_dims(part, context.hidden_size)
    per: Per = "encoded" if part.cross else "token"
    return (
        *_normed(part, dims, context),
        kept("queries", "h·d_k", dims),
        *_output(dims, needed=part.output_gate, always_eager=_always_eager(part)),
        *_fused(part, dims, per),
        *scores(dims, per, "d_k", eager_only=not _always_eager(part)),
        *_learned_scores(part, dims),
        *(_gate(dims) if part.output_gate else ()),
    )


def _gate(dims: dict[str, int]) -> tuple[Kept, ...]:
    return kept("gate", "h·d_v", dims), kept("gated output", "h·d_v", dims, feeds=OUT)


def _output(dims: dict[str, int], *, needed: bool, always_eager: bool) -> tuple[Kept, ...]:
    """A fused kernel needs its output again; without one only the projection behind it does."""
    if needed or always_eager:
        return (kept("attention output", "h·d_v", dims, feeds=() if needed else OUT),)
    return (
        kept("attention output", "h·d_v", dims, runs="flash"),
        kept("attention output", "h·d_v", dims, runs="eager", feeds=OUT),
    )


def _always_eager(part: Attention) -> bool:
    return part.sinks or bool(part.relative_buckets)


def _normed(part: Attention, dims: dict[str, int], context: Context) -> tuple[Kept, ...]:
    """Norms of queries and keys; a reused cache has its keys normed already."""
    if part.qk_norm is None:
        return ()
    heads = ("h",) if part.kv_reuse else ("h", "h_kv")
    return tuple(
        own
        for count in heads
        for one in by_norm(
            "head norm", f"{count}·d_k", dims, context.norm,
            rows="1" if part.qk_norm == "full" else count,
            per="encoded" if part.cross and count == "h_kv" else "token",
        )
        for own in (_beside_values(one, part, dims) if count == "h_kv" else (one,))
    )  # fmt: skip


def _beside_values(one: Kept, part: Attention, dims: dict[str, int]) -> tuple[Kept, ...]:
    """What a norm of keys keeps, without its input where values are that and are kept anyway.

    A flash kernel keeps values as they were projected, plain products a copy, heads put first; one
    head alone is first without one.
    """
    if not part.k_eq_v or one.name != "head norm input":
        return (one,)
    if dims["h"] == 1:
        return ()
    if _always_eager(part):
        return (one,)
    return () if one.runs == "fused" else (replace(one, runs="eager"),)


def _fused(part: Attention, dims: dict[str, int], per: Per) -> tuple[Kept, ...]:
    """Keys and values unless they are another layer's, and the sums of the softmax.

    Values narrower than keys have no flash kernel, and the memory-efficient one wants a key for
    each query head.
    """
    if _always_eager(part):
        return ()
    even = dims["d_k"] == dims["d_v"]
    heads = "h_kv" if even else "h"
    own: tuple[tuple[str, str], ...]
    own = (("keys", f"{heads}·d_k"), ("values", f"{heads}·d_v"))
    if part.kv_reuse and heads == "h_kv":
        own = ()
    return (
        *(kept(name, text, dims, per=per, runs="flash") for name, text in own),
        *softmax_sums(dims, FLASH_RNG if even else EFFICIENT_RNG),
    )


def softmax_sums(dims: dict[str, int], random: int) -> tuple[Kept, ...]:
    """What a fused kernel keeps beside its inputs and output."""
    state = dims | {"state": random}
    return (
        kept("log-sum-exp", "h", dims, 4, runs="flash"),
        kept("random state", "state", state, 1, per="layer", runs="flash"),
    )


def scores(dims: dict[str, int], per: Per, d_qk: str, *, eager_only: bool) -> tuple[Kept, ...]:
    """A key and a value for each query head, softmax in float32 and its copy in 16 bits."""
    runs: Runs | None = "eager" if eager_only else None
    pair: Per = "cross pair" if per == "encoded" else "pair"
    return (
        kept("repeated keys", f"h·({d_qk})", dims, per=per, runs=runs),
        kept("repeated values", "h·d_v", dims, per=per, runs=runs),
        kept("softmax", "h", dims, 4, per=pair, runs=runs),
        replace(kept("weights", "h", dims, per=pair, runs=runs), narrowed=True),
    )


def passing_by_attention(part: Attention, context: Context) -> tuple[Passing, ...]:
    """Gradients of what a fused kernel works on, or of a softmax whose copy is let go."""
    dims = attention_dims(part, context.hidden_size)
    per: Per = "encoded" if part.cross else "token"
    always = _always_eager(part)
    flash = () if always else _around_flash(dims, "h·(d_k + d_v) + h_kv·(d_k + d_v)")
    return (Passing((*flash, *_around_softmax(dims, per, eager_only=not always))),)


def passing_by_latent_attention(part: LatentAttention, context: Context) -> tuple[Passing, ...]:
    """As attention, with a key and a value for each head."""
    del context
    dims = {"h": part.num_heads, "d_v": part.v_head_dim}
    dims["d_k"] = part.qk_nope_head_dim + part.qk_rope_head_dim
    softmax = _around_softmax(dims, "token", eager_only=True)
    return (Passing((*_around_flash(dims, "2·h·(d_k + d_v)"), *softmax)),)


def _around_flash(dims: dict[str, int], text: str) -> tuple[Kept, ...]:
    return (kept("gradients of queries, keys, values and output", text, dims, runs="flash"),)


def _around_softmax(dims: dict[str, int], per: Per, *, eager_only: bool) -> tuple[Kept, ...]:
    runs: Runs | None = "eager" if eager_only else None
    pair: Per = "cross pair" if per == "encoded" else "pair"
    weights = replace(kept("weights", "h", dims, per=pair, runs=runs), narrowed=True)
    return (
        kept("gradients after and before the softmax", "2·h", dims, 4, per=pair, runs=runs),
        *let_go((weights,)),
    )


def _learned_scores(part: Attention, dims: dict[str, int]) -> tuple[Kept, ...]:
    """The sink's column of softmax and weights, and which row of a bias table each pair takes."""
    sink = (kept("sink column", "h", dims, 6),) if part.sinks else ()
    if not part.relative_buckets:
        return sink
    return (*sink, kept("distances", "1", dims, 8, per="square", needed_for="table"))


def kept_by_latent_attention(part: LatentAttention, context: Context) -> tuple[Kept, ...]:
    """As attention, with the latents that queries, keys and values come from."""
    dims = {
        "h": part.num_heads,
        "r_q": part.q_lora_rank or 0,
        "r_kv": part.kv_lora_rank,
        "d_n": part.qk_nope_head_dim,
        "d_r": part.qk_rope_head_dim,
        "d_v": part.v_head_dim,
    }
    del context  # its norms are always RMS
    latents = [("query latent", "r_q", "", "q_b")] if part.q_lora_rank else []
    even = part.v_head_dim == part.qk_nope_head_dim + part.qk_rope_head_dim
    return (
        *(
            one
            for name, width, cut_from, fed in [*latents, ("latent", "r_kv", "r_kv + d_r", "kv_b")]
            for one in (
                *by_norm(name, width, dims, "rms", residual=True, cut_from=cut_from),
                kept(name, width, dims, feeds=(fed,), residual=True),
            )
        ),
        kept("queries", "h·(d_n + d_r)", dims),
        *_output(dims, needed=False, always_eager=False),
        kept("keys", "h·(d_n + d_r)", dims, runs="flash"),
        kept("values among keys", "h·(d_n + d_v)", dims, runs="flash"),
        *softmax_sums(dims, FLASH_RNG if even else EFFICIENT_RNG),
        *scores(dims, "token", "d_n + d_r", eager_only=True),
    )
