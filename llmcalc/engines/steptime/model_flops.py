"""FLOPs of a training step that MFU counts, by each convention that is published."""

from __future__ import annotations

from typing import Literal

from llmcalc.blueprint.operations import Ledger
from llmcalc.engines import flops
from llmcalc.engines.workload import Workload
from llmcalc.formula import formula, quietly

Convention = Literal["full", "causal", "6n"]
"""With the whole product of attention as far as its window, as PaLM, llm-foundry and torchtitan;
with the half that a causal mask leaves; without attention."""


@formula(
    "6 · N + 12 · L · H · Q · T",
    source="PaLM, arXiv:2204.02311, appendix B; llm-foundry scripts/train/benchmarking",
    unit="FLOP",
)
def palm_flops_per_token(*, N: int, L: int, H: int, Q: int, T: int) -> int:  # noqa: N803  paper's symbols
    """Of one token, forward and backward: N parameters, L layers, H heads of Q, sequences of T."""
    return 6 * N + 12 * L * H * Q * T


@formula(
    "6 · N + 6 · L · H · Q · T",
    source="half of PaLM's attention: a token sees those before it only",
    unit="FLOP",
)
def causal_flops_per_token(*, N: int, L: int, H: int, Q: int, T: int) -> int:  # noqa: N803
    """The same with the half of the scores that a causal mask leaves."""
    return 6 * N + 6 * L * H * Q * T


@formula("flops / (seconds · gpus · peak)", source="PaLM, arXiv:2204.02311, section 4.1")
def utilisation(*, flops: float, seconds: float, gpus: int, peak: float) -> float:
    """MFU where `flops` are the model's, HFU where recomputation is among them."""
    return flops / (seconds * gpus * peak)


@formula("flops / (gpus · peak · mfu)", source="the definition of MFU, solved for the time")
def seconds_at(*, flops: float, gpus: int, peak: float, mfu: float) -> float:
    """Seconds of so many model FLOPs where the MFU is known."""
    return flops / (gpus * peak * mfu)


def model_flops(
    ledger: Ledger, seq: int, convention: Convention = "full", sequences: int = 1
) -> int:
    """FLOPs that a model needs for a step, of experts those that a token visits.

    PaLM's formula with the weights that are multiplied: an untied input embedding is looked up.
    """
    workload = Workload(phase="train", batch=sequences, query=seq, context=seq)
    with quietly():
        found = flops.count(ledger, workload, "causal" if convention == "causal" else "window")
    return found.matmul if convention == "6n" else found.model
