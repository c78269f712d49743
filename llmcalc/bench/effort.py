"""How long and how often things are timed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Repeats of one figure. A call shorter than `shortest` is repeated within each sample."""

    shortest: float
    """Seconds of one sample, at least: above a scheduler's time slice of some milliseconds."""
    repeats: int
    budget: float
    """Seconds after which no further sample is begun, once there are enough to judge."""
    attempts: int
    """Times that samples are taken anew where they say nothing."""


QUICK = Effort(shortest=0.012, repeats=11, budget=0.6, attempts=3)
THOROUGH = Effort(shortest=0.02, repeats=31, budget=3.0, attempts=4)

QUICK_LINKS = Effort(shortest=0.1, repeats=9, budget=1.0, attempts=4)
THOROUGH_LINKS = Effort(shortest=0.2, repeats=15, budget=4.0, attempts=4)
"""Between processes each message waits for the other's turn on a core: only many of them agree."""
