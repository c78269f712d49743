"""Hybrids of Mamba and attention: layer by layer, or side by side in one layer."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.parts import (
    FULL,
    Block,
    Body,
    attention,
    biased,
    block,
    body,
    mlp,
    moe,
    rotary_dim,
)
from llmcalc.catalog.huggingface.recurrent import (
    dt_rank,
    mamba1_part,
    mamba2_of_hybrid,
)

LINEAR = "linear_attention"
_OLDER = {"mamba": LINEAR, "attention": FULL}
"""Names that older files give the same kinds."""


def jamba(c: Config) -> Body:
    """Mamba with attention every few layers, an MLP or experts after each."""
    c.fixed("mamba_inner_layernorms", only=True)
    c.value("calc_logits_for_entire_prompt")
    count, experts = c.layer_count(), c.size("num_experts")
    full = _periodic(c, "attn_layer", count)
    sparse = [one and experts > 1 for one in _periodic(c, "expert_layer", count)]
    listed(c, [FULL if one else LINEAR for one in full])
    names = [
        f"{'attn' if world else 'mamba'}_{'moe' if many else 'mlp'}"
        for world, many in zip(full, sparse, strict=True)
    ]
    parts: dict[str, Any] = {
        "attn": attention(c, rotary_dim=0), "mamba": _jamba_mixer(c), "mlp": mlp(c),
        "moe": moe(c, experts, c.size("num_experts_per_tok"), c.size("intermediate_size")),
    }  # fmt: skip
    return body(c, names, pairs(names, parts))


def _jamba_mixer(c: Config) -> dict[str, Any]:
    return mamba1_part(
        c,
        c.size("mamba_expand") * c.size("hidden_size"),
        state_size=c.size("mamba_d_state"),
        dt_rank=dt_rank(c, "mamba_dt_rank"),
        conv_kernel=c.size("mamba_d_conv"),
        conv_bias=c.flag("mamba_conv_bias"),
        bias=c.flag("mamba_proj_bias"),
        inner_norms=True,
    )


def _periodic(c: Config, key: str, count: int) -> list[bool]:
    """Layers at `offset` within each `period`."""
    period, offset = c.size(f"{key}_period"), c.count(f"{key}_offset")
    if offset >= period:
        raise c.bad(f"{key}_offset {offset} must be smaller than {key}_period {period}")
    return [i % period == offset for i in range(count)]


def bamba(c: Config) -> Body:
    """Mamba-2 with attention where attn_layer_indices says, an MLP after each."""
    count, at = c.layer_count(), set(c.numbers("attn_layer_indices") or ())
    kinds = [FULL if i in at else LINEAR for i in range(count)]
    listed(c, kinds)
    c.fixed("partial_rotary_factor", only=0.5)
    for key in ("z_loss_coefficient", "mamba_norm_before_gate"):
        c.value(key)
    rotary = rotary_dim(c, 0.5)
    c.agrees("attn_rotary_emb", rotary or c.size("hidden_size") // c.size("num_attention_heads"))
    inner = c.size("mamba_expand") * c.size("hidden_size")
    names = ["attn" if one == FULL else "mamba" for one in kinds]
    feed = mlp(c, bias=c.flag("mlp_bias"))
    blocks = {
        "mamba": block(mamba2_of_hybrid(c, inner), feed),
        "attn": block(attention(c, rotary_dim=rotary, **biased(c)), feed),
    }
    return body(c, names, blocks)


def granitemoehybrid(c: Config) -> Body:
    """Mamba-2 or attention, then experts beside an MLP, or that MLP alone."""
    kinds = layer_kinds(c, [LINEAR] * c.layer_count())
    c.fixed("normalization_function", only="rmsnorm")
    place = c.word("position_embedding_type")
    if place not in (None, "rope", "nope"):
        raise c.wrong("position_embedding_type", "rope or nope")
    part = attention(c, rotary_dim=None if place == "rope" else 0, **biased(c))
    inner = c.size("mamba_expand") * c.size("hidden_size")
    shared, experts = c.size("shared_intermediate_size"), c.count("num_local_experts")
    for key in ("num_experts_per_tok", "intermediate_size"):
        c.value(key)
    feed = mlp(c, shared)
    if experts:
        size, top_k = c.size("intermediate_size"), c.size("num_experts_per_tok")
        feed = moe(c, experts, top_k, size, shared_intermediate_size=shared)
    names = ["attn" if one == FULL else "mamba" for one in kinds]
    blocks = {"mamba": block(mamba2_of_hybrid(c, inner), feed), "attn": block(part, feed)}
    return body(c, names, blocks)


def falcon_h1(c: Config) -> Body:
    """Mamba-2 and attention side by side under one norm, then an MLP: two blocks a layer."""
    count, bias = c.layer_count(), c.flag("mamba_proj_bias")
    listed(c, ["hybrid"] * count)
    for key in _MULTIPLIERS:
        c.value(key)
    c.fixed("projectors_bias", only=bias)
    c.fixed("mamba_use_mlp", only=True)
    c.fixed("attn_layer_indices", only=None)
    inner = c.maybe_size("mamba_d_ssm") or c.size("mamba_expand") * c.size("hidden_size")
    mixer = mamba2_of_hybrid(c, inner)
    if not c.flag("mamba_rms_norm"):
        mixer["mamba2"]["gated_norm"] = False
    blocks = {
        "hybrid": block(mixer, attention(c, **biased(c)), norms=1, placement="parallel"),
        "mlp": block(mlp(c, bias=c.flag("mlp_bias")), norms=1),
    }
    return body(c, ["hybrid", "mlp"] * count, blocks)


_MULTIPLIERS = """lm_head_multiplier embedding_multiplier mlp_multipliers key_multiplier
attention_out_multiplier attention_in_multiplier ssm_multipliers ssm_in_multiplier
ssm_out_multiplier mamba_norm_before_gate mlp_expansion_factor""".split()  # noqa: SIM905 (a table)


def layer_kinds(c: Config, otherwise: list[str], key: str = "layer_types") -> list[str]:
    """Linear or full attention for every layer: as written, else as the class derives it."""
    given = c.value(key)
    if given is None:
        return otherwise
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise c.wrong(key, "a list of texts")
    kinds = [_OLDER.get(one, str(one)) for one in given]
    unknown = next((one for one in kinds if one not in (LINEAR, FULL)), "")
    if unknown:
        raise c.bad(f"{key} holds {unknown:.60}", f"understood here are {LINEAR}, {FULL}")
    if len(kinds) != len(otherwise):
        raise c.bad(f"{key} has {len(kinds)} entries for {len(otherwise)} layers")
    return kinds


def listed(c: Config, expected: list[str]) -> None:
    """Refuse a list of layers that says otherwise than the keys the class derives them from."""
    for key in ("layer_types", "layers_block_type"):
        given = c.value(key)
        if given is not None:
            same = (
                isinstance(given, list)
                and [_OLDER.get(one, one) if isinstance(one, str) else one for one in given]
                == expected
            )
            if not same:
                raise c.bad(f"{key} differs from the layers that the class builds")


def pairs(names: list[str], parts: dict[str, Any]) -> dict[str, Block]:
    """The blocks named as `mixer_feed`, of those two parts."""
    return {name: block(*(parts[one] for one in name.split("_"))) for name in dict.fromkeys(names)}
