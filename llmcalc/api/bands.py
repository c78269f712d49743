"""The error bands that public measurements give modelled numbers, beside what they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from llmcalc.blueprint.operations import Ledger
from llmcalc.catalog.accuracy import ALL_TRAINING, Band, band, bands, step_group
from llmcalc.engines.part import Part
from llmcalc.spec.runtime import Runtime

if TYPE_CHECKING:
    from llmcalc.engines.train.plan import Plan

ENOUGH = 5
"""Rows that a band is taken from."""
WIDE = 16
"""Bits of the numbers that most rows compute with."""


def banded(parts: Sequence[Part], runtime: Runtime) -> tuple[Part, ...]:
    """The parts, each modelled one with the band that its group has under this runtime."""
    return tuple(_banded(part, runtime) if part.basis == "modelled" else part for part in parts)


def room_band(runtime: Runtime) -> Band | None:
    """How far the room for the cache, and with it the total of all else, was off."""
    return band(runtime.name, "room", runtime.like)


def step_band(plan: Plan, ledger: Ledger) -> Band | None:
    """How far the peaks of training steps were off under this framework and method.

    Of models with experts, or without, as this one; all frameworks together where too few rows
    tell, and for FP8, which hardly any row is of.
    """
    group = step_group(plan.framework.name, plan.method, experts=ledger.has_experts)
    own = bands().get((group, "mem"))
    known = own is not None and own.n >= ENOUGH and plan.recipe.product_bits >= WIDE
    return own if known else bands().get((ALL_TRAINING, "mem"))


def basis_shown(part: Part) -> str:
    """`modelled, off 0.4 % (p90 6.1 %)`, or the basis alone."""
    if part.error_p50 is None or part.error_p90 is None:
        return part.basis
    return f"{part.basis}, {off(part.error_p50, part.error_p90)}"


def off(p50: float, p90: float) -> str:
    """`off 0.4 % (p90 6.1 %)`."""
    return f"off {p50:.1%} (p90 {p90:.1%})".replace("%", " %")


def _banded(part: Part, runtime: Runtime) -> Part:
    found = band(runtime.name, part.group, runtime.like)
    if found is None:
        return part
    return replace(part, error_p50=found.p50, error_p90=found.p90)
