"""Models without attention: Mamba, Mamba-2 and RWKV-4; and their mixers for the hybrids."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.parts import Body, block, said, uniform

_STEPS = """time_step_min time_step_max time_step_floor time_step_limit time_step_scale
time_step_init_scheme time_step_rank chunk_size rescale_prenorm_residual use_mambapy
use_falcon_mambapy use_associative_scan use_mamba_kernels fused_add_norm""".split()  # noqa: SIM905 (a table)
"""Keys of first values, numerics and kernels, which no shape depends on."""


def mamba(c: Config) -> Body:
    """One mixer a layer, each channel with a state of its own."""
    _framework(c)
    inner = c.maybe_size("intermediate_size") or c.size("expand") * c.size("hidden_size")
    c.value("expand")
    c.agrees("d_inner", inner)
    part = mamba1_part(
        c,
        inner,
        state_size=c.size("state_size"),
        dt_rank=dt_rank(c, "time_step_rank"),
        conv_kernel=c.size("conv_kernel"),
        conv_bias=c.flag("use_conv_bias"),
        bias=c.flag("use_bias"),
    )
    return uniform(c, block(part, norms=1), called="mamba", limit=None)


def falcon_mamba(c: Config) -> Body:
    """Mamba with norms of dt, B and C that have no weights."""
    return mamba(c)


def mamba2(c: Config) -> Body:
    """One mixer a layer, each head with one decay."""
    _framework(c)
    part = mamba2_part(
        c,
        inner=c.size("expand") * c.size("hidden_size"),
        heads=c.size("num_heads"),
        head_dim=c.size("head_dim"),
        state_size=c.size("state_size"),
        n_groups=c.size("n_groups"),
        conv_kernel=c.size("conv_kernel"),
        conv_bias=c.flag("use_conv_bias"),
        bias=c.flag("use_bias"),
    )
    c.agrees("intermediate_size", c.size("expand") * c.size("hidden_size"))
    for key in ("norm_before_gate", "use_mem_eff_path"):
        c.value(key)
    return uniform(c, block(part, norms=1), called="mamba", limit=None)


def rwkv(c: Config) -> Body:
    """Time mixing and channel mixing; the norm of the first layer is that of the embedding."""
    hidden = c.size("hidden_size")
    c.value("rescale_every")
    wide = c.maybe_size("attention_hidden_size")
    time = {"attention_hidden_size": wide if wide != hidden else None}
    channel = {"intermediate_size": c.maybe_size("intermediate_size") or 4 * hidden}
    one = block({"rwkv_time": said(time)}, {"rwkv_channel": channel})
    return uniform(c, one, called="rwkv", norm="layer", embedding={"norm": True})


def mamba1_part(c: Config, inner: int, *, conv_bias: bool, **sizes: Any) -> dict[str, Any]:
    """The `mamba1` part, what is usual left out."""
    numerics(c)
    part = {"intermediate_size": inner} | said(sizes)
    usual = {"state_size": 16, "conv_kernel": 4}
    return {"mamba1": _unusual(part, usual, conv_bias=conv_bias)}


def mamba2_part(
    c: Config, *, inner: int, heads: int, head_dim: int, conv_bias: bool, **sizes: Any
) -> dict[str, Any]:
    """The `mamba2` part, what is usual left out; its heads fill `inner` channels."""
    numerics(c)
    if heads * head_dim != inner:
        raise c.bad(f"{heads} Mamba heads of {head_dim} do not fill {inner} channels")
    if inner % sizes["n_groups"] or heads % sizes["n_groups"]:
        raise c.bad(f"{heads} Mamba heads do not divide by {sizes['n_groups']} groups")
    part = {"num_heads": heads, "head_dim": head_dim} | said(sizes)
    usual = {"state_size": 128, "n_groups": 1, "conv_kernel": 4}
    return {"mamba2": _unusual(part, usual, conv_bias=conv_bias)}


def mamba2_of_hybrid(c: Config, inner: int, **more: Any) -> dict[str, Any]:
    """The `mamba2` part of a hybrid whose keys begin with mamba_."""
    for key in ("mamba_expand", "mamba_chunk_size"):
        c.value(key)
    heads = c.size("mamba_n_heads")
    if c.value("mamba_d_head") in ("auto", None):
        head_dim, left = divmod(inner, heads)
        if left:
            raise c.bad(f"{heads} Mamba heads do not divide {inner} channels")
    else:
        head_dim = c.size("mamba_d_head")
    return mamba2_part(
        c,
        inner=inner,
        heads=heads,
        head_dim=head_dim,
        state_size=c.size("mamba_d_state"),
        n_groups=c.size("mamba_n_groups"),
        conv_kernel=c.size("mamba_d_conv"),
        conv_bias=c.flag("mamba_conv_bias"),
        bias=c.flag("mamba_proj_bias"),
        **more,
    )


def dt_rank(c: Config, key: str) -> int:
    """The rank of the step size: as written, or a sixteenth of hidden_size."""
    return -(-c.size("hidden_size") // 16) if c.value(key) == "auto" else c.size(key)


def kernel(length: int) -> dict[str, int]:
    """The length of the convolution where it is not the usual one."""
    return {} if length == 4 else {"conv_kernel": length}  # noqa: PLR2004 (the card's default)


def numerics(c: Config) -> None:
    """Read what no shape depends on, and refuse an activation that the mixers do not have."""
    for key in _STEPS:
        c.value(key)
    if c.word("hidden_act") not in (None, "silu", "swish"):
        c.fixed("hidden_act", only="silu")


def _framework(c: Config) -> None:
    """Keys that the authors' own files repeat."""
    for key, name in (("d_model", "hidden_size"), ("n_layer", "num_hidden_layers")):
        c.agrees(key, c.size(name))
    c.fixed("rms_norm", only=True)
    c.fixed("ssm_cfg", only={})
    c.value("pad_vocab_size_multiple")


def _unusual(part: dict[str, Any], usual: dict[str, Any], *, conv_bias: bool) -> dict[str, Any]:
    kept = {key: value for key, value in part.items() if usual.get(key) != value}
    return kept if conv_bias else kept | {"conv_bias": False}
