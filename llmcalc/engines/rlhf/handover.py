"""What is on the way from a trained policy to the engine: in bytes, and for how long."""

from __future__ import annotations

from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.weight import Weight
from llmcalc.engines.train.plan import Plan
from llmcalc.formula import formula

SENT = 2
"""Bytes of a weight as the engine gets it: bf16."""
TRANSFER = 8.25e9
"""Bytes a second from GPUs that train to engines on others: 61 GB to 30 H100 over InfiniBand of
50 GB/s took 7 seconds (verl b178a3c, verl/checkpoint_engine/README.md, NCCL and NIXL alike)."""


def handed(rank: Ledger, plan: Plan) -> int:
    """Bytes beside the policy's own: the largest tensor in 16 bits, whole; or all of them."""
    ways = plan.framework.rlhf
    if ways.merges_whole and plan.adapters and plan.sharded_weights:
        return ways.bucket + sent(rank)
    largest = max((one.numel for _, one in _weights(rank)), default=0)
    return ways.bucket + SENT * largest


def sent(ledger: Ledger) -> int:
    """Bytes of all weights as the engine gets them."""
    return SENT * sum(times * one.numel for times, one in _weights(ledger))


def _weights(ledger: Ledger) -> list[tuple[int, Weight]]:
    return [
        (section.times, weight)
        for section in ledger.sections
        for operation in section.operations
        for weight in getattr(operation, "weights", ())
        if weight.learned
    ]


@formula(
    "bytes · (ranks − 1) / (ranks · link) + 2 · copied / bandwidth + from_host / host",
    source="ring all-gather, then read and written once; a floor: each tensor is a call of its own",
    unit="seconds",
    basis="modelled",
)
def near_seconds(
    *, bytes: float, ranks: int, link: float, copied: float, bandwidth: float,
    from_host: float, host: float,
) -> float:  # fmt: skip
    """To an engine on the same GPU; the engine's old weights may come back from the host first."""
    gathered = bytes * (ranks - 1) / (ranks * link)
    return gathered + 2 * copied / bandwidth + from_host / host


@formula(
    "bytes / rate",
    source="the link within a node, else 8.25 GB/s: verl b178a3c, checkpoint_engine/README.md",
    unit="seconds", basis="modelled",
)  # fmt: skip
def far_seconds(*, bytes: float, rate: float) -> float:
    """To engines on GPUs of their own."""
    return bytes / rate
