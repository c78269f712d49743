"""What feed-forward parts keep for the backward pass."""

from __future__ import annotations

from llmcalc.blueprint.context import Context
from llmcalc.blueprint.keeping.tensor import Kept, Passing, by_activation, kept, let_go
from llmcalc.spec.parts import Activation, Mlp, Moe


def kept_by_mlp(part: Mlp, context: Context) -> tuple[Kept, ...]:
    """Inputs and outputs of the activation, and of the product with the gate."""
    del context
    dims = {"d_ff": part.intermediate_size}
    return by_activation("d_ff", dims, part.activation, gated=part.gated)


def kept_by_moe(part: Moe, context: Context) -> tuple[Kept, ...]:
    """The routing, each visited expert's activations, and the shared expert's."""
    dims = _dims(part, context)
    return (
        *_routing(part, dims),
        kept("rows sorted by expert", "v·d_x", dims, feeds=("experts.gate", "experts.up")),
        *by_activation("v·d_e", dims, part.activation, gated=part.gated, last="experts.down"),
        kept("outputs of experts", "v·d_x", dims),
        *((kept("mixed latent", "d_x", dims, feeds=("latent_out",)),) if part.latent_size else ()),
        *_shared(part, context),
    )


def _dims(part: Moe, context: Context) -> dict[str, int]:
    """Sizes of a mixture, `v` being the experts that a token visits."""
    visited = -(
        -part.num_experts_per_tok * part.num_experts // (part.num_experts + part.zero_experts)
    )
    return {
        "E": part.num_experts,
        "Z": part.zero_experts,
        "k": part.num_experts_per_tok,
        "v": visited,
        "d_x": part.latent_size or context.hidden_size,
        "d_e": part.intermediate_size,
        "matrices": 3 if part.gated else 2,
    }


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
    inside = by_activation(
        "d_ff", dims, part.activation, gated=part.gated, last="shared_expert.down"
    )
    if not part.shared_gate:
        return inside
    return (*inside, kept("shared gate", "1", dims), kept("shared output", "d", dims))


def passing_by_mlp(part: Mlp, context: Context) -> tuple[Passing, ...]:
    """Gradients around the activation."""
    del context
    dims = {"d_ff": part.intermediate_size}
    return (Passing(_around_activation("d_ff", dims, part.activation, gated=part.gated)),)


def passing_by_moe(part: Moe, context: Context) -> tuple[Passing, ...]:
    """Gradients of rows on their way back to tokens, around the activation, of expert weights.

    A shared expert comes after the others, so it is gone back through before.
    """
    dims = _dims(part, context)
    gone = (kept("outputs of experts", "v·d_x", dims), *_shared(part, context))
    inside = by_activation("v·d_e", dims, part.activation, gated=part.gated)
    rows = kept("gradients of rows, weighted, sorted and not", "3·v·d_x", dims)
    factors = kept("gradients of factors and of rows", "(matrices - 1)·v·d_e + v·d_x", dims)
    around = _around_activation("v·d_e", dims, part.activation, gated=part.gated)
    return (
        Passing((rows, *let_go(gone[1:])), "nothing"),
        Passing((*around, *let_go(gone))),
        Passing((factors, *let_go((*inside, *gone))), "all"),
    )


def _around_activation(
    width: str, dims: dict[str, int], activation: Activation, *, gated: bool
) -> tuple[Kept, ...]:
    """Gradients of a product and of its factors, or of an activation's output and input.

    The last projection has let go of its input by then.
    """
    inside = by_activation(width, dims, activation, gated=gated)
    return (
        kept("gradients around the activation", f"{3 if gated else 2}·({width})", dims),
        *let_go(one for one in inside if one.needed_for == "product"),
    )
