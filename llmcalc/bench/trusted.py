"""Figures that are refused instead of reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

from llmcalc.spec.measurement import Refusal

T = TypeVar("T")


class Refused(Exception):  # noqa: N818  it is no error of anybody
    """What was measured is no figure, for a reason."""

    def __init__(self, figure: str, reason: str) -> None:
        super().__init__(f"{figure}: {reason}")
        self.figure, self.reason = figure, reason


class Refusals:
    """Collects what was refused, and goes on."""

    def __init__(self) -> None:
        self.found: list[Refusal] = []

    def note(self, figure: str, reason: str) -> None:
        """A figure that there is not, and why."""
        self.found.append(Refusal(figure=figure, reason=" ".join(reason.split())[:300]))

    def tried(self, figure: str, measure: Callable[[], T]) -> T | None:
        """What `measure` finds, or None where it is refused or torch cannot do it here."""
        try:
            return measure()
        except Refused as refused:
            self.note(refused.figure, refused.reason)
        except torch.OutOfMemoryError:
            self.note(figure, "the device ran out of memory")
        except (RuntimeError, NotImplementedError, AttributeError) as error:
            first = str(error).partition("\n")[0]
            self.note(figure, f"torch cannot do this here: {first or type(error).__name__}")
        return None
