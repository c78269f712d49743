"""Repeated timings of one thing: their middle, their spread, and whether they say anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles

SPREAD = 0.20
"""(p90 − p10) / median above which there is no figure, only a range."""
DRIFT = 0.10
"""Change of the median from the first half to the second above which the state is not steady."""
ABOVE = 1.05
"""Share of a peak above which a figure is an error of the clock or of a cache."""
INTERRUPTED = 50
"""Interruptions a second and thread above which others had the cores for much of the time.

Seen on two cores with torch on both: 10 to 30 with nobody else, 65 to 100 beside one busy process,
where each product took whole time slices of 8 ms, with hardly any spread.
"""
FEWEST = 5
"""Samples below which neither spread nor drift can be told."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Seconds of one call, in the order in which they were taken."""

    seconds: tuple[float, ...]
    interrupted: float = 0.0
    """Times a second that a thread had to leave its core to another process, on average."""

    @property
    def median(self) -> float:
        """The middle."""
        return median(self.seconds)

    @property
    def p10(self) -> float:
        """What one call in ten stays below."""
        return _deciles(self.seconds)[0]

    @property
    def p90(self) -> float:
        """What one call in ten goes beyond."""
        return _deciles(self.seconds)[-1]

    @property
    def spread(self) -> float:
        """(p90 − p10) / median."""
        return (self.p90 - self.p10) / self.median

    @property
    def drift(self) -> float:
        """By how much the second half is slower than the first, as a share of the first."""
        half = len(self.seconds) // 2
        return median(self.seconds[-half:]) / median(self.seconds[:half]) - 1


def doubt(samples: Samples) -> str | None:
    """Why these timings are no measurement, or None."""
    if len(samples.seconds) < FEWEST:
        return f"{len(samples.seconds)} samples are too few to tell a spread"
    if samples.p10 <= 0:
        return "the clock cannot tell so short a time"
    if samples.spread > SPREAD:
        return f"spread {samples.spread:.0%} is over {SPREAD:.0%}"
    if abs(samples.drift) > DRIFT:
        return f"not steady: second half {samples.drift:+.0%} against the first"
    return None


def disturbance(samples: Samples) -> str | None:
    """Why these timings may be too long although they agree, or None."""
    if samples.interrupted <= INTERRUPTED:
        return None
    return (
        f"other processes interrupted each thread {samples.interrupted:.0f} times a second, "
        f"over {INTERRUPTED}"
    )


def best(attempts: Sequence[Samples]) -> Samples:
    """The attempt that says most: without doubt, then without disturbance, then the calmest."""
    return min(
        attempts,
        key=lambda one: (
            doubt(one) is not None,
            disturbance(one) is not None and one.interrupted,
            one.spread,
        ),
    )


def beyond(rate: float, peak: float | None, unit: str) -> str | None:
    """Why a rate cannot be true beside the peak of the same unit, or None."""
    if peak is None or rate <= ABOVE * peak:
        return None
    return f"{rate:.4g} {unit} is over {ABOVE:.2f} of the peak, {peak:.4g}"


def _deciles(seconds: tuple[float, ...]) -> list[float]:
    return quantiles(seconds, n=10, method="inclusive") if len(seconds) > 1 else [seconds[0]]
