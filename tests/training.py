"""Plans of training for tests: what is asked for, on one model."""

from __future__ import annotations

from llmcalc.api.plans import Asked, lowered, plan
from llmcalc.api.targets import placed
from llmcalc.blueprint.operations import Ledger
from llmcalc.catalog.find import card
from llmcalc.engines.train.plan import Plan


def planned(name: str, **asked: object) -> tuple[Ledger, Plan]:
    """A model in training and the plan for it."""
    chosen = plan(Asked(**asked))  # type: ignore[arg-type]
    ledger = lowered(card(name), chosen.framework)
    return ledger, placed(chosen, card(name), ledger)
