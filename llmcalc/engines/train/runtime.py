"""What does the framework take beyond live tensors? Reserve, context, communication."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.engines.train.plan import Plan
from llmcalc.formula import formula

FRAGMENTS = 0.032
"""What the allocator cannot give back, as a share of live tensors. Of public runs near the end of
their GPU, Llama-2-13B did not run (oo0009: 0.0302 or more; tools/fit_training.py), nor did
Llama-3.3-70B under QLoRA (tests/data/fine_tuning.tsv, u48-70b: 0.0311), and Yi-34B under FSDP did
(me0256: 0.0894 or less)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """Bytes on one GPU that no tensor has."""

    reserve: int
    """What the allocator holds beyond the peak of live tensors."""
    context: int
    communication: int

    @property
    def total(self) -> int:
        """All three."""
        return self.reserve + self.context + self.communication


@formula(
    "int(share · peak)", source="allocator reserve, fitted: llmcalc/frameworks", unit="bytes",
    basis="modelled",
)  # fmt: skip
def reserve_bytes(*, share: float, peak: int) -> int:
    """Bytes that the caching allocator holds beyond live tensors."""
    return int(share * peak)


def least(taken: Overhead, peak: int) -> int:
    """Bytes beyond a peak of live tensors that no effort of the allocator does without.

    It frees what it only holds before it gives up (PyTorch documentation, CUDA memory management),
    as far as blocks are whole.
    """
    return taken.total - taken.reserve + min(taken.reserve, int(FRAGMENTS * peak))


def overhead(plan: Plan, peak: int) -> Overhead:
    """What is on top of a peak of live tensors."""
    several = plan.parallel.gpus > 1
    return Overhead(
        reserve=reserve_bytes(share=plan.framework.reserve, peak=peak),
        context=plan.framework.context,
        communication=plan.framework.communication if several else 0,
    )
