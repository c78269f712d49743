"""What becomes a figure, what is refused, and what others disturbed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import TypeVar

import torch

from llmcalc.bench.clock import Call, timed
from llmcalc.bench.device import Device
from llmcalc.bench.effort import Effort
from llmcalc.bench.samples import Samples, beyond, disturbance, doubt
from llmcalc.spec.measurement import Refusal

T = TypeVar("T")

HASTE = 0.5
"""Share of the time left below which nothing is tried twice."""


class Refused(Exception):  # noqa: N818  it is no error of anybody
    """What was measured is no figure, for a reason."""

    def __init__(self, figure: str, reason: str) -> None:
        super().__init__(f"{figure}: {reason}")
        self.figure, self.reason = figure, reason


class Judge:
    """Times calls on one device, and keeps account of what it does not believe."""

    def __init__(
        self, device: Device, effort: Effort, peak: float | None = None,
        seconds: float | None = None,
    ) -> None:  # fmt: skip
        self.device, self._effort, self.peak, self.seconds = device, effort, peak, seconds
        self._begun = perf_counter()
        self.refused: list[Refusal] = []
        self.disturbed: list[Refusal] = []

    @property
    def effort(self) -> Effort:
        """That was asked for; in haste nothing is tried twice."""
        return replace(self._effort, attempts=1) if self.left < HASTE else self._effort

    @property
    def left(self) -> float:
        """The share of the time that is left; all of it where there is no limit."""
        return 1 - (perf_counter() - self._begun) / self.seconds if self.seconds else 1.0

    def timed(self, figure: str, call: Call) -> Samples:
        """Samples of a call that agree with each other. Raises Refused."""
        samples = timed(call, self.device.torch, self.effort)
        if why := doubt(samples):
            raise Refused(figure, why)
        if why := disturbance(samples):
            self.disturbs(figure, why)
        return samples

    def possible(self, figure: str, gb_s: float) -> float:
        """A bandwidth that the memory may have. Raises Refused for one over its peak."""
        if why := beyond(gb_s, self.peak, "GB/s"):
            raise Refused(figure, why)
        return gb_s

    def disturbs(self, figure: str, reason: str) -> None:
        """Note that a figure may be too low, and why."""
        self.disturbed.append(Refusal(figure=figure, reason=reason))

    def mark(self) -> tuple[int, int]:
        """How much has been noted so far."""
        return len(self.refused), len(self.disturbed)

    def back_to(self, mark: tuple[int, int]) -> None:
        """Forget what was noted since."""
        del self.refused[mark[0] :], self.disturbed[mark[1] :]

    def refuses(self, figure: str, reason: str) -> None:
        """Note a figure that there is not, and why."""
        self.refused.append(Refusal(figure=figure, reason=" ".join(reason.split())[:300]))

    def tried(self, figure: str, measure: Callable[[], T]) -> T | None:
        """What `measure` finds, or None where it is refused or torch cannot do it here."""
        if self.left <= 0:
            self.refuses(figure, f"the {self.seconds:.0f} seconds of --quick were over")
            return None
        try:
            return measure()
        except Refused as refused:
            self.refuses(refused.figure, refused.reason)
        except torch.OutOfMemoryError:
            self.refuses(figure, "the device ran out of memory")
        except (RuntimeError, NotImplementedError, AttributeError) as error:
            first = str(error).partition("\n")[0]
            self.refuses(figure, f"torch cannot do this here: {first or type(error).__name__}")
        return None
