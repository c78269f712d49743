"""The worked solution of a training step's memory: each part on the fullest GPU at its peak.

Everything is computed anew by the engines, part by part, while its steps are recorded.
"""

from __future__ import annotations

from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.shard import shard
from llmcalc.engines.train.plan import Plan
from llmcalc.formula import is_recording, quietly
from llmcalc.planner.training import Needs
from llmcalc.planner.worked_passes import record_passes
from llmcalc.planner.worked_states import record_states


def explain(ledger: Ledger, plan: Plan, needs: Needs) -> None:
    """Record how each part of the peak comes about, and their sum."""
    if not is_recording():
        return
    with quietly():
        rank = shard(ledger, plan.parallel)[needs.line.stage]
    record_states(rank, plan, needs.line.peak)
    record_passes(rank, plan, needs.line)
    needs.explain()
