"""What a step of training needs on the fullest GPU, and whether it fits."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from llmcalc.blueprint.operations import Ledger
from llmcalc.engines.train.plan import Plan
from llmcalc.engines.train.runtime import Overhead, least, overhead
from llmcalc.engines.train.timeline import Line, fullest, timelines
from llmcalc.formula import quietly, record_sum
from llmcalc.planner.fit import Verdict, judged

PARTS = (
    "weights", "gradients", "master_weights", "optimizer", "activations", "logits", "buffers",
)  # fmt: skip
"""Of live tensors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """The fullest GPU over one step, and what the framework takes beyond live tensors."""

    line: Line
    taken: Overhead

    @property
    def parts(self) -> dict[str, int]:
        """Bytes of live tensors at the peak, by PARTS."""
        return {name: getattr(self.line.peak, name) for name in PARTS}

    @property
    def live(self) -> int:
        """All live tensors at the peak."""
        return self.line.peak.total

    @property
    def static(self) -> int:
        """What no batch changes."""
        held = self.line.lasting
        return held.weights + held.gradients + held.master_weights + held.optimizer

    @property
    def peak(self) -> int:
        """All that the device must hold."""
        return self.live + self.taken.total

    @property
    def least(self) -> int:
        """The same where the allocator gives back what it only holds."""
        return self.live + least(self.taken, self.live)

    def verdict(self, offered: int) -> Verdict:
        """Whether it fits; tight where the allocator must give back its reserve."""
        found = judged(self.peak, offered)
        return "tight" if found == "no" and self.least <= offered else found

    def explain(self) -> None:
        """Record the parts of the peak and their sum."""
        record_sum("live_tensors", self.parts, "bytes", "modelled")
        record_sum("runtime", asdict(self.taken), "bytes", "modelled")
        record_sum("peak", self.parts | {"runtime": self.taken.total}, "bytes", "modelled")


def needed_by(ledger: Ledger, plan: Plan) -> Needs:
    """What a plan needs. Raises ImpossibleError where it does not divide."""
    with quietly():
        line = fullest(timelines(ledger, plan))
    return Needs(line=line, taken=overhead(plan, line.peak.total))
