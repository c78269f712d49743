"""The error bands that public measurements give modelled numbers, beside what they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from llmcalc.blueprint.operations import GroupedMatmul, Ledger
from llmcalc.catalog.accuracy import ALL_TRAINING, Band, band, bands, step_group
from llmcalc.engines.part import Part
from llmcalc.spec.runtime import Runtime

if TYPE_CHECKING:
    from llmcalc.spec.framework import Framework


def banded(parts: Sequence[Part], runtime: Runtime) -> tuple[Part, ...]:
    """The parts, each modelled one with the band that its group has under this runtime."""
    return tuple(_banded(part, runtime) if part.basis == "modelled" else part for part in parts)


def room_band(runtime: Runtime) -> Band | None:
    """How far the room for the cache, and with it the total of all else, was off."""
    return band(runtime.name, "room", runtime.like)


def step_band(framework: Framework, method: str, ledger: Ledger) -> Band | None:
    """How far the peaks of training steps were off under this framework and method.

    Those of models with experts, or without, as this one; else those of the others, else those of
    all frameworks together.
    """
    experts = any(
        isinstance(one, GroupedMatmul) for section in ledger.sections for one in section.operations
    )
    own = (step_group(framework.name, method, experts=each) for each in (experts, not experts))
    known = (bands().get((name, "mem")) for name in (*own, ALL_TRAINING))
    return next(filter(None, known), None)


def basis_shown(part: Part) -> str:
    """`modelled, off 0.4 % (p90 6.1 %)`, or the basis alone."""
    if part.error_p50 is None or part.error_p90 is None:
        return part.basis
    return f"{part.basis}, off {part.error_p50:.1%} (p90 {part.error_p90:.1%})".replace("%", " %")


def _banded(part: Part, runtime: Runtime) -> Part:
    found = band(runtime.name, part.group, runtime.like)
    if found is None:
        return part
    return replace(part, error_p50=found.p50, error_p90=found.p90)
