"""`fit --emit`: the lines that start the named models so, instead of their memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from llmcalc.api.emit import Start, filled, with_layers
from llmcalc.planner.fit import Ask
from llmcalc.report.model import Report

if TYPE_CHECKING:
    from llmcalc.api.fit import Placed, Question


def settled(question: Question) -> Question:
    """The question with the settings that follow from it."""
    chosen = question.setup
    replicas = chosen.parallel.replicas if chosen.parallel else 1
    settings = filled(
        chosen.runtime, chosen.settings, batch=-(-question.batch // replicas), seq=question.seq
    )
    return replace(question, setup=replace(chosen, settings=settings))


def emitted(report: Report, placed: Sequence[Placed], ask: Ask, emit: str) -> Report:
    """A line a model, and a warning for each that does not fit."""
    lines = [
        Start(card=one.card, planner=one.planner, ask=with_layers(one.planner, ask),
              parallel=one.found.parallel).line(emit)
        for one in placed
    ]  # fmt: skip
    short = [one.card.name for one in placed if one.verdict == "no"]
    return replace(
        report, tables=(), assumptions=(), text="".join(f"{line}\n" for line in lines),
        warnings=tuple(f"{name} does not fit so" for name in short),
    )  # fmt: skip
