"""What mixers of fixed memory keep: inputs of the scan; its states are computed again."""

from __future__ import annotations

from llmcalc.blueprint.context import Context
from llmcalc.blueprint.keeping.tensor import Kept, by_norm, kept
from llmcalc.spec.recurrent import (
    GatedDeltaNet,
    KimiDelta,
    Lightning,
    Mamba1,
    Mamba2,
    RwkvChannel,
    RwkvTime,
)

OUT = ("out",)
"""The last projection of a mixer."""


def kept_by_mamba1(part: Mamba1, context: Context) -> tuple[Kept, ...]:
    """Channels around the convolution, step size and gate; B and C with what leads to them."""
    del context
    dims = {"d_i": part.intermediate_size, "N": part.state_size, "r": part.dt_rank}
    dims |= {"k": part.conv_kernel}
    if part.inner_norms:
        selected = tuple(
            one
            for name, width in (("dt", "r"), ("B", "N"), ("C", "N"))
            for one in (
                *by_norm(name, width, dims, "rms"),
                kept(f"{name} normed", width, dims, feeds=("dt",) if name == "dt" else ()),
            )
        )
    else:
        selected = (kept("dt, B and C", "r + 2·N", dims),)
    return (
        *_convolved("d_i", dims),
        kept("contiguous channels", "d_i", dims, feeds=("x",)),
        *selected,
        kept("step before softplus", "d_i", dims),
        kept("step", "d_i", dims),
        kept("both branches", "2·d_i", dims),
        *_gated("d_i", dims),
        kept("gated output", "d_i", dims, feeds=OUT),
    )


def kept_by_mamba2(part: Mamba2, context: Context) -> tuple[Kept, ...]:
    """The projection whole, for the sake of its gate; channels, B and C around the convolution."""
    del context
    dims = {"h": part.num_heads, "p": part.head_dim, "N": part.state_size, "G": part.n_groups}
    dims |= {"k": part.conv_kernel}
    return (
        *_convolved("h·p + 2·G·N", dims),
        kept("step before softplus", "h", dims),
        kept("step", "h", dims),
        kept("projection", "2·h·p + 2·G·N + h", dims),
        *_gated("h·p", dims),
        *(by_norm("gated norm", "h·p", dims, "rms") if part.gated_norm else ()),
        kept("input of the last projection", "h·p", dims, feeds=OUT),
    )


def kept_by_gated_deltanet(part: GatedDeltaNet, context: Context) -> tuple[Kept, ...]:
    """Queries, keys and values around the convolution, decay and rate, the gated norm."""
    del context
    dims = {"h_k": part.num_k_heads, "h_v": part.num_v_heads, "k": part.conv_kernel}
    dims |= {"d_k": part.head_k_dim, "d_v": part.head_v_dim}
    return (
        *_convolved("2·h_k·d_k + h_v·d_v", dims),
        *_decay("h_v", "h_v", dims),
        kept("rate", "h_v", dims),
        kept("projection", "2·h_k·d_k + 2·h_v·d_v", dims),
        *_gated("h_v·d_v", dims),
        *by_norm("gated norm", "h_v·d_v", dims, "rms", rows="h_v"),
        kept("normed output", "h_v·d_v", dims, feeds=OUT),
    )


def kept_by_kimi_delta(part: KimiDelta, context: Context) -> tuple[Kept, ...]:
    """As the gated delta rule, with a decay for each channel from a low-rank projection."""
    del context
    dims = {"h": part.num_heads, "d_h": part.head_dim, "k": part.conv_kernel}
    return (
        *_convolved("3·h·d_h", dims),
        kept("inner decay", "d_h", dims, feeds=("f_b",)),
        *_decay("h·d_h", "h", dims),
        kept("rate", "h", dims),
        kept("inner gate", "d_h", dims, feeds=("g_b",)),
        kept("gate", "h·d_h", dims),
        *_gated("h·d_h", dims),
        *by_norm("gated norm", "h·d_h", dims, "rms", rows="h"),
        kept("normed output", "h·d_h", dims, feeds=OUT),
    )


def kept_by_lightning(part: Lightning, context: Context) -> tuple[Kept, ...]:
    """Queries, keys and values around their activation, the norm and the gate."""
    del context
    dims = {"h": part.num_heads, "d_h": part.head_dim}
    return (
        kept("projection", "3·h·d_h", dims),
        kept("queries, keys and values", "3·h·d_h", dims),
        *by_norm("norm of the mix", "h·d_h", dims, "rms"),
        kept("normed mix", "h·d_h", dims),
        kept("gate", "h·d_h", dims),
        kept("gated output", "h·d_h", dims, feeds=OUT),
    )


def kept_by_rwkv_time(part: RwkvTime, context: Context) -> tuple[Kept, ...]:
    """The tokens before, three mixes with them, and what is averaged."""
    dims = {"d": context.hidden_size, "a": part.attention_hidden_size or context.hidden_size}
    mixes = (("keys", "key"), ("values", "value"), ("receptance", "receptance"))
    return (
        kept("tokens before", "d", dims, needed_for="table"),
        *(kept(f"mix for {name}", "d", dims, feeds=(fed,)) for name, fed in mixes),
        *(kept(name, "a", dims) for name in ("keys", "values", "receptance", "average")),
        kept("gated average", "a", dims, feeds=OUT),
    )


def kept_by_rwkv_channel(part: RwkvChannel, context: Context) -> tuple[Kept, ...]:
    """The tokens before, two mixes with them, the squared activation and the gate."""
    dims = {"d": context.hidden_size, "d_ff": part.intermediate_size}
    return (
        kept("tokens before", "d", dims, needed_for="table"),
        kept("mix for keys", "d", dims, feeds=("channel.key",)),
        kept("mix for receptance", "d", dims, feeds=("channel.receptance",)),
        *(kept(name, "d", dims) for name in ("receptance", "values")),
        kept("activation", "d_ff", dims),
        kept("its square", "d_ff", dims, feeds=("channel.value",)),
    )


def _convolved(channels: str, dims: dict[str, int]) -> tuple[Kept, ...]:
    """Inputs of a convolution with those before the sequence, its output and that activated."""
    return (
        kept("convolution input", channels, dims),
        kept("inputs before", f"({channels})·(k - 1)", dims, per="sequence"),
        kept("convolution output", channels, dims),
        kept("activated", channels, dims),
    )


def _decay(width: str, heads: str, dims: dict[str, int]) -> tuple[Kept, ...]:
    """Around softplus and exponential, and the learned rates themselves as two small tensors."""
    return (
        kept("rates of decay", heads, dims, per="layer"),
        kept("rates before their sign", heads, dims, per="layer", needed_for="table"),
        kept("step before softplus", width, dims),
        kept("step", width, dims, needed_for="table"),
        kept("decay", width, dims),
    )


def _gated(width: str, dims: dict[str, int]) -> tuple[Kept, ...]:
    """Both factors of an output times its activated gate."""
    return kept("output of the scan", width, dims), kept("activated gate", width, dims)
