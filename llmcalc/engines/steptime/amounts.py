"""What a micro-batch computes and moves, the whole model's, before it is dealt out.

A step multiplies every weight three times: forward, for the gradient of the input and for that of
the weight, the last of which frozen weights do not have. Recomputation adds a forward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llmcalc.blueprint.operations import Cache, GroupedMatmul, Ledger, Matmul
from llmcalc.engines import flops, params
from llmcalc.engines.steptime.run import Run
from llmcalc.engines.workload import Workload
from llmcalc.formula import quietly

WIDE = 2
"""Bytes of an activation in flight: bf16."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """One micro-batch of one replica, and the weights behind it."""

    matmul: float
    """FLOPs with dense weights, recomputation among them."""
    experts: float
    attention: float
    model: float
    """FLOPs that MFU counts, causal attention whole as PaLM's formula has it."""
    again: float
    """FLOPs that are computed again, counted alike."""
    layers: int
    passes: float
    """Times that each layer is passed: forward, twice as long backward, and again."""
    width: int
    vocab: int
    tokens: int
    weights: int
    """Numbers of the whole model."""
    expert_weights: int
    reductions: int
    """Sums over tensor ranks in one forward."""
    carried: float
    """Elements of one copy of each token, on the way to experts and back in one forward."""
    top_k: int
    """Copies: experts that a token visits."""
    groups: int
    """Groups of experts, one on each node, of which a token's lie in so many at most:"""
    top_groups: int
    cached: float
    """Elements of keys and values in one forward."""


def amounts(ledger: Ledger, run: Run) -> Amounts:
    """The amounts of one micro-batch."""
    trained = Workload(phase="train", batch=run.micro_batch, query=run.seq, context=run.seq)
    forward = Workload(phase="prefill", batch=run.micro_batch, query=run.seq, context=run.seq)
    with quietly():
        once, both = flops.count(ledger, forward), flops.count(ledger, trained)
        whole, whole_once = (
            flops.count(ledger, workload, "window") for workload in (trained, forward)
        )
        counted = params.count(ledger)
    grouped = float(once.by_component.get("experts", 0))
    passes = (2.0 if run.adapters else 3.0) + run.layers_again
    again = 1.0 if run.attention_again else run.layers_again
    needless = once.matmul if run.adapters else 0
    beside = run.tokens * (3 * run.beside_flops + run.table_flops)
    beside_again = run.tokens * run.layers_again * run.beside_flops
    return Amounts(
        matmul=passes * (once.matmul - grouped) + beside + beside_again, experts=passes * grouped,
        attention=both.attention + both.other + again * (once.attention + once.other),
        model=float(whole.model - needless) + beside,
        again=run.layers_again * once.matmul + beside_again
        + again * (whole_once.attention + once.other),
        layers=len(ledger.order), passes=passes,
        width=ledger.hidden_size, vocab=_vocab(ledger), tokens=run.tokens,
        weights=counted.total, expert_weights=counted.components["experts"],
        reductions=_reductions(ledger), cached=_cached(ledger) * run.tokens, **_routed(ledger, run),
    )  # fmt: skip


def _vocab(ledger: Ledger) -> int:
    """Rows of the head."""
    heads = (
        operation.weight.shape[0]
        for section in ledger.sections
        for operation in section.operations
        if section.kind == "last" and isinstance(operation, Matmul)
    )
    return max(heads, default=0)


def _reductions(ledger: Ledger) -> int:
    """Where a part goes back to the residual stream."""
    return sum(
        section.times
        for section in ledger.sections
        for operation in section.operations
        if section.kind == "layer"
        and (
            (isinstance(operation, Matmul) and operation.to_residual)
            or (isinstance(operation, GroupedMatmul) and operation.name.endswith("down"))
        )
    )


def _routed(ledger: Ledger, run: Run) -> dict[str, Any]:
    """What tokens carry to their experts; the layers of a model have the same experts."""
    found = [
        (operation, section.times)
        for section in ledger.sections
        for operation in section.operations
        if isinstance(operation, GroupedMatmul) and operation.name.endswith("down")
    ]
    one = found[0][0] if found else None
    return {
        "carried": 2 * ledger.hidden_size * sum(times for _, times in found) * run.tokens,
        "top_k": one.top_k if one else 0,
        "groups": one.groups if one else 1,
        "top_groups": one.top_groups if one else 1,
    }


def _cached(ledger: Ledger) -> int:
    """Elements of one token's keys and values, or latents."""
    return sum(
        operation.elements * section.times
        for section in ledger.sections
        for operation in section.operations
        if isinstance(operation, Cache)
    )
