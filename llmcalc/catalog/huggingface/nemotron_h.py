"""Nemotron-H and Nemotron-3: one part a layer, of Mamba-2, attention, an MLP or experts."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.linear import state_dtype
from llmcalc.catalog.huggingface.parts import FULL, Body, attention, block, body, mlp, moe
from llmcalc.catalog.huggingface.recurrent import mamba2_part
from llmcalc.spec.pattern import LONGEST

_SIGNS = {"M": "mamba", "*": "attn", "-": "mlp", "E": "moe"}
_WORDS = {
    "mamba": "mamba", "linear_attention": "mamba", "attention": "attn", FULL: "attn",
    "mlp": "mlp", "moe": "moe",
}  # fmt: skip
_UNSAID = ["mamba", "moe", "attn", "mlp"]
_EXPERTS = """n_routed_experts num_experts_per_tok n_shared_experts moe_intermediate_size
moe_shared_expert_intermediate_size moe_latent_size moe_shared_expert_overlap""".split()  # noqa: SIM905 (a table)


def nemotron_h(c: Config) -> Body:
    """The layers that hybrid_override_pattern or layers_block_type lists, each under one norm."""
    names = _layers(c, "hybrid_override_pattern", "layers_block_type", _UNSAID)
    if len(names) > LONGEST:
        raise c.bad(f"{len(names)} layers", f"at most {LONGEST} are possible")
    c.agrees("num_hidden_layers", len(names))
    _no_effect(c)
    ahead = _ahead(c)
    parts = {"mamba": _mixer(c), "attn": attention(c, rotary_dim=0), "mlp": _mlp(c)}
    parts |= {"moe": _experts(c)} if ahead or "moe" in names else {}
    made = body(c, names, {name: block(part, norms=1) for name, part in parts.items()})
    if ahead:
        made["blocks"]["ahead"] = block(parts["attn"], parts["moe"])
        made["mtp"] = {"block": "ahead"}
    return made


def _layers(c: Config, signs: str, words: str, otherwise: list[str]) -> list[str]:
    """Block names as a text of signs or a list of words says them, else what the class has."""
    pattern, given = c.word(signs), c.value(words)
    by_sign = [_SIGNS.get(one, "") for one in pattern or ""]
    by_word = [_WORDS.get(one, "") for one in _texts(c, words)] if given is not None else []
    if "" in by_sign or "" in by_word:
        key, known = (signs, _SIGNS) if "" in by_sign else (words, _WORDS)
        raise c.bad(f"{key} holds an unknown kind of layer", f"known are {' '.join(known)}")
    if pattern is not None and given is not None and by_sign != by_word:
        raise c.bad(f"{words} and {signs} differ", "remove one of them")
    if pattern is None and given is None:
        return otherwise
    if not by_sign and not by_word:
        raise c.bad(f"{signs if given is None else words} names no layer")
    return by_sign or by_word


def _texts(c: Config, key: str) -> list[str]:
    given = c.value(key)
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise c.wrong(key, "a list of texts")
    return given


def _ahead(c: Config) -> bool:
    """Whether the published file holds a layer for one further token: attention and experts."""
    layers = _layers(c, "mtp_hybrid_override_pattern", "mtp_layers_block_type", ["attn", "moe"])
    ahead = c.value("num_nextn_predict_layers")
    if not ahead:
        return False
    if c.size("num_nextn_predict_layers") > 1 or layers != ["attn", "moe"]:
        raise c.bad("layers for multi-token prediction other than one of attention and experts")
    return True


def _no_effect(c: Config) -> None:
    """Keys that the class does not heed: refused where they would say something else."""
    for key in ("attention_bias", "mamba_proj_bias", "tie_word_embeddings"):
        c.fixed(key, only=False)
    c.fixed("sliding_window", only=None)
    c.agrees("attention_head_dim", c.size("head_dim"))
    if c.word("mamba_hidden_act") not in ("silu", "swish"):
        c.fixed("mamba_hidden_act", only="silu")
    for key in ("expand", "norm_eps", *_EXPERTS):
        c.value(key)


def _mlp(c: Config) -> dict[str, Any]:
    return mlp(c, gated=False, acts=("mlp_hidden_act",), bias=c.flag("mlp_bias"))


def _mixer(c: Config) -> dict[str, Any]:
    heads, head_dim = c.size("mamba_num_heads"), c.size("mamba_head_dim")
    return mamba2_part(
        c,
        inner=heads * head_dim,
        heads=heads,
        head_dim=head_dim,
        state_size=c.size("ssm_state_size"),
        n_groups=c.size("n_groups"),
        conv_kernel=c.size("conv_kernel"),
        conv_bias=c.flag("use_conv_bias"),
        bias=c.flag("use_bias"),
        **state_dtype(c, "mamba_ssm_cache_dtype"),
    )


def _experts(c: Config) -> dict[str, Any]:
    """Routed experts, perhaps in a latent width, beside the one that all tokens visit."""
    c.fixed("mlp_bias", only=False)
    c.fixed("n_shared_experts", only=1)
    part = moe(
        c,
        c.size("n_routed_experts"),
        c.size("num_experts_per_tok"),
        c.size("moe_intermediate_size"),
        shared_intermediate_size=c.size("moe_shared_expert_intermediate_size"),
        latent_size=c.maybe_size("moe_latent_size"),
        correction_bias=True,
        activation=_mlp(c)["mlp"].get("activation"),
    )
    return {"moe": part["moe"] | {"gated": False}}
