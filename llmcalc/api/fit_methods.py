"""`fit --train all`: how each model could be trained here, and the largest one by each method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llmcalc.api import fit_methods_tables as tables
from llmcalc.api.fit_train import report
from llmcalc.api.plans import Asked
from llmcalc.api.selection import Filter, selected
from llmcalc.api.train_advice import cheapest
from llmcalc.api.trained import Trained
from llmcalc.engines.capacity import capacity
from llmcalc.engines.train.plan import Method
from llmcalc.errors import LlmcalcError
from llmcalc.report.model import Report
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec

METHODS: tuple[Method, ...] = ("full", "lora", "dora", "qlora")


def fits_methods(
    cards: Sequence[ModelCard], asked: Sequence[Asked], gpu: GpuSpec, *, strict: bool = False
) -> Report:
    """Named models by each method, with the fewest changes that make them fit."""
    offered = capacity(gpu).bytes
    settled = [_settled(Trained(card, method, offered)) for card in cards for method in asked]
    placed = [one for _, one in settled]
    return report(placed, asked, gpu, tables.named(settled), strict=strict)


def fit_catalog_methods(wanted: Filter, asked: Sequence[Asked], gpu: GpuSpec) -> Report:
    """By each method the largest selected model that such changes make fit."""
    problems: list[LlmcalcError] = []
    offered = capacity(gpu).bytes
    every = [Trained(card, asked[0], offered) for card in selected(wanted, problems.append)]
    every.sort(key=lambda one: (-one.params, one.card.name))
    found = [_largest(every, method) for method in asked]
    placed = [one for _, one in found if one]
    shown = tables.largest([method.method for method in asked], found)
    answer = report(placed, asked, gpu, shown, strict=False)
    told = (problem.message for problem in problems)
    return replace(answer, warnings=(*answer.warnings, *told))


def _largest(every: Sequence[Trained], method: Asked) -> tables.Settled:
    """The first that fits, after changes that are named."""
    settled = (_settled(one.changed(method)) for one in every)
    return next((each for each in settled if each[1].verdict == "fits"), ("", None))


def _settled(one: Trained) -> tuple[str, Trained]:
    """A model with the fewest changes that make it fit, and their names; as asked, if none do."""
    change = cheapest(one)
    return ("", one) if change is None else (change.words, one.changed(change.asked))
