"""The tensors of feed-forward parts in llama.cpp's graph: one MLP, or experts."""

from __future__ import annotations

from llmcalc.blueprint.operations import GroupedMatmul, Matmul, Operation
from llmcalc.engines.graph_pass import Pass


def feed_forward(one: Pass, operations: list[Operation], x: int) -> int:
    """What a feed-forward part puts out, before it is added to the residual stream."""
    found = {operation.name: operation for operation in operations}
    if "router" in found:
        return _experts(one, found, x)
    return _mlp(one, found, x, "")


def _width(found: dict[str, Operation], name: str) -> int:
    operation = found.get(name)
    return operation.width if isinstance(operation, (Matmul, GroupedMatmul)) else 0


def _mlp(one: Pass, found: dict[str, Operation], x: int, prefix: str) -> int:
    """Gate and up, their product in a third tensor, and down."""
    inner = _inner(one, found, (x,), prefix)
    return one.new(_width(found, f"{prefix}down"), inner)


def _inner(one: Pass, found: dict[str, Operation], x: tuple[int, ...], prefix: str) -> int:
    ff, gate = _width(found, f"{prefix}up"), _width(found, f"{prefix}gate")
    if gate:
        gated = one.new(gate, *x)
        return one.new(ff, gated, one.new(ff, *x))
    return one.new(ff, one.new(ff, *x), inplace=True)


def _experts(one: Pass, found: dict[str, Operation], x: int) -> int:
    """Scores of all experts, the chosen ones' inner tensors, and their weighted sum."""
    router, down = found["router"], found["experts.down"]
    if not isinstance(router, Matmul) or not isinstance(down, GroupedMatmul):
        raise TypeError(router)
    scores = one.new(router.width, x)
    scores = one.new(router.width, scores, inplace=True)
    biased = one.new(router.width, scores) if "correction_bias" in found else scores
    chosen = one.new(router.width, biased)
    weights = one.new(down.top_k, scores, chosen)
    inside = one.new(_width(found, "latent_in"), x) if "latent_in" in found else x
    alone = down.top_k == 1
    if alone:  # weighted before the expert and not after, as Llama 4 wants it
        inside = one.new(down.width, one.new(down.width, x), weights, inplace=True)
    inner = _inner(one, found, (inside, chosen), "experts.")
    out = one.new(down.width, inner, chosen)
    if not alone:
        out = one.new(down.width, out, weights, inplace=True)
    each = down.width // down.top_k
    total = one.new(each, out)
    one.under_way(experts=True)
    if "latent_out" in found:
        total = one.new(_width(found, "latent_out"), total)
    if "shared_expert.down" in found:
        beside = _mlp(one, found, x, "shared_expert.")
        if "shared_expert_gate" in found:
            beside = one.new(each, beside, one.new(1, x), inplace=True)
        total = one.new(_width(found, "shared_expert.down"), total, beside, inplace=True)
    return total
