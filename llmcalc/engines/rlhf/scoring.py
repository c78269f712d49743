"""How long do sequences take to be scored? One forward pass, at the rates that training reaches."""

from __future__ import annotations

from dataclasses import replace

from llmcalc.blueprint.operations import Ledger
from llmcalc.engines import flops
from llmcalc.engines.steptime.amounts import Amounts, amounts
from llmcalc.engines.steptime.pace import train_step
from llmcalc.engines.steptime.run import Machine, Run
from llmcalc.engines.workload import Workload
from llmcalc.formula import quietly
from llmcalc.spec.utilisation import TrainingReach, Utilisation

BOTH = 2
"""Passes of a training step that exchange data and gather weights: forward and backward."""


def forward_seconds(
    ledger: Ledger, run: Run, machine: Machine, every: Utilisation, reach: TrainingReach
) -> float:
    """Of all micro-batches of a run, going forward only; the ledger was lowered for training."""
    once = replace(
        run, adapters=True, layers_again=0.0, attention_again=False,
        weight_bytes=run.weight_bytes / BOTH,
    )  # fmt: skip
    with quietly():
        step = train_step(_forward(ledger, once), once, machine, every, reach)
    waiting = step.exchange / BOTH
    idle = step.bubble / (step.compute + step.exchange)
    return (step.compute + waiting) * (1 + idle) + step.gradients


def _forward(ledger: Ledger, run: Run) -> Amounts:
    """A micro-batch without its gradients."""
    work = amounts(ledger, run)
    seen = Workload(phase="prefill", batch=run.micro_batch, query=run.seq, context=run.seq)
    once = flops.count(ledger, seen)
    return replace(
        work, matmul=work.matmul / work.passes, experts=work.experts / work.passes,
        attention=float(once.attention + once.other), passes=1.0,
    )  # fmt: skip
