"""What feed-forward parts keep for the backward pass."""

from __future__ import annotations

from llmcalc.blueprint.context import Context
from llmcalc.blueprint.keeping.tensor import Kept, by_activation, kept
from llmcalc.spec.parts import Mlp, Moe


def kept_by_mlp(part: Mlp, context: Context) -> tuple[Kept, ...]:
    """Inputs and outputs of the activation, and of the product with the gate."""
    del context
    dims = {"d_ff": part.intermediate_size}
    return by_activation("d_ff", dims, part.activation, gated=part.gated)


def kept_by_moe(part: Moe, context: Context) -> tuple[Kept, ...]:
    """The routing, each visited expert's activations, and the shared expert's."""
    visited = -(
        -part.num_experts_per_tok * part.num_experts // (part.num_experts + part.zero_experts)
    )
    dims = {
        "E": part.num_experts,
        "Z": part.zero_experts,
        "k": part.num_experts_per_tok,
        "v": visited,
        "d_x": part.latent_size or context.hidden_size,
        "d_e": part.intermediate_size,
        "matrices": 3 if part.gated else 2,
    }
    return (
        *_routing(part, dims),
        kept("rows sorted by expert", "v·d_x", dims, needed_for="product"),
        *by_activation("v·d_e", dims, part.activation, gated=part.gated),
        kept("outputs of experts", "v·d_x", dims),
        *((kept("mixed latent", "d_x", dims, needed_for="product"),) if part.latent_size else ()),
        *_shared(part, context),
    )


def _routing(part: Moe, dims: dict[str, int]) -> tuple[Kept, ...]:
    """Scores, choices and shares, and the permutations that sort tokens by expert and back."""
    visits = (
        (kept("experts of biased rows", "v", dims, 8, needed_for="table"),)
        if part.expert_bias
        else ()
    )
    return (
        kept("router scores", "E + Z", dims, 4),
        kept("chosen experts", "k", dims, 8),
        kept("shares and their sum", "k + 1", dims, 4),
        kept("shares of rows", "v", dims),
        kept("tokens of rows", "v", dims, 8),
        kept("order of rows", "v", dims, 8),
        kept("way back", "v", dims, 8),
        kept("ends of groups", "matrices·E", dims, 4, per="layer"),
        *visits,
    )


def _shared(part: Moe, context: Context) -> tuple[Kept, ...]:
    if not part.shared_intermediate_size:
        return ()
    dims = {"d": context.hidden_size, "d_ff": part.shared_intermediate_size}
    inside = by_activation("d_ff", dims, part.activation, gated=part.gated)
    if not part.shared_gate:
        return inside
    return (*inside, kept("shared gate", "1", dims), kept("shared output", "d", dims))
