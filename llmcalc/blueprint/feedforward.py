"""Feed-forward parts: one MLP for all tokens, or experts of which each token visits a few."""

from __future__ import annotations

from llmcalc.blueprint.context import Context
from llmcalc.blueprint.operations import Elementwise, GroupedMatmul, Matmul, Operation
from llmcalc.blueprint.weight import Component, weight
from llmcalc.spec.parts import Mlp, Moe


def lower_mlp(part: Mlp, context: Context) -> tuple[Operation, ...]:
    """W_down · (act(W_gate · x) ⊙ W_up · x), or W_down · act(W_up · x) without the gate."""
    dims = {"d": context.hidden_size, "d_ff": part.intermediate_size}
    return _mlp("", dims, "mlp", gated=part.gated, bias=part.bias)


def lower_moe(part: Moe, context: Context) -> tuple[Operation, ...]:
    """A router, the routed experts, and the shared ones that every token visits."""
    dims = {
        "d": context.hidden_size,
        "E": part.num_experts,
        "Z": part.zero_experts,
        "k": part.num_experts_per_tok,
        "d_e": part.intermediate_size,
        "d_x": part.latent_size or context.hidden_size,
    }
    return (
        *_router(part, dims),
        *(_latent("in", "d_x, d", dims) if part.latent_size else ()),
        *_experts(part, dims),
        *(_latent("out", "d, d_x", dims) if part.latent_size else ()),
        *_shared(part, context),
    )


def _latent(name: str, text: str, dims: dict[str, int]) -> tuple[Matmul, ...]:
    """The projection to or from the width that experts work in."""
    return (
        Matmul(name=f"latent_{name}", weight=weight(f"latent_{name}_proj", text, dims, "experts")),
    )


def _mlp(
    prefix: str, dims: dict[str, int], component: Component, *, gated: bool, bias: bool
) -> tuple[Operation, ...]:
    d_ff = dims["d_ff"]
    names = ("gate", "up") if gated else ("up",)
    ups = tuple(
        Matmul(
            name=f"{prefix}{name}",
            weight=weight(f"{prefix}{name}_proj", "d_ff, d", dims, component, units=d_ff),
            bias=weight(f"{prefix}{name}_proj.bias", "d_ff", dims, component, "bias", units=d_ff)
            if bias
            else None,
        )
        for name in names
    )
    down = Matmul(
        name=f"{prefix}down",
        weight=weight(f"{prefix}down_proj", "d, d_ff", dims, component, units=d_ff, axis=1),
        bias=weight(f"{prefix}down_proj.bias", "d", dims, component, "bias") if bias else None,
        to_residual=True,
    )
    return (*ups, down)


def _router(part: Moe, dims: dict[str, int]) -> tuple[Operation, ...]:
    """A row an expert, and one for each that returns its input."""
    rows = "E + Z" if part.zero_experts else "E"
    router = Matmul(
        name="router",
        weight=weight("router", f"{rows}, d", dims, "router", "router"),
        bias=weight("router.bias", rows, dims, "router", "router") if part.router_bias else None,
    )
    if not part.correction_bias:
        return (router,)
    buffer = weight("router.correction_bias", rows, dims, "router", "router", learned=False)
    return (router, Elementwise(name="correction_bias", weights=(buffer,)))


def _experts(part: Moe, dims: dict[str, int]) -> tuple[Operation, ...]:
    """Matrices of all experts; with idle ones a balanced token visits that many fewer."""
    experts, width = part.num_experts, "d_x" if part.latent_size else "d"
    visited = -(-part.num_experts_per_tok * experts // (experts + part.zero_experts))
    shapes = [("gate", "d_e", width)] if part.gated else []
    shapes += [("up", "d_e", width), ("down", width, "d_e")]
    return tuple(
        GroupedMatmul(
            name=f"experts.{name}",
            weight=weight(
                f"experts.{name}_proj", f"E, {d_out}, {d_in}", dims, "experts", "expert",
                units=part.intermediate_size, axis=2 if name == "down" else 1, experts=experts,
            ),
            bias=weight(
                f"experts.{name}_proj.bias", f"E, {d_out}", dims, "experts", "bias",
                units=None if name == "down" else part.intermediate_size, axis=1, experts=experts,
            ) if part.expert_bias else None,
            experts=experts,
            top_k=visited,
            groups=part.n_group,
            top_groups=part.topk_group,
        )
        for name, d_out, d_in in shapes
    )  # fmt: skip


def _shared(part: Moe, context: Context) -> tuple[Operation, ...]:
    if not part.shared_intermediate_size:
        return ()
    dims = {"d": context.hidden_size, "d_ff": part.shared_intermediate_size}
    mlp = _mlp("shared_expert.", dims, "shared_expert", gated=part.gated, bias=False)
    if not part.shared_gate:
        return mlp
    gate = weight("shared_expert_gate", "1, d", dims, "shared_expert", "router")
    return (*mlp, Matmul(name="shared_expert_gate", weight=gate))
