"""Which card a row is about, by what it configured."""

from __future__ import annotations

from llmcalc.checks.measured.cells import text, whole
from llmcalc.checks.measured.model_facts import Facts, chosen, matching
from llmcalc.checks.measured.model_names import named
from llmcalc.checks.measured.reading import Cells
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.spec.card import ModelCard


def model(config: Cells) -> ModelCard:
    """The card of a row: by its name, else by the shapes that the engine printed.

    Raises Unusable where there is none, or where what somebody wrote was inferred from the
    measured numbers themselves.
    """
    stated = config.get("model_stated", "stated")
    if stated == "inferred":
        raise Unusable("the model was inferred from the measured numbers")
    name, facts = text(config, "model") or text(config, "config"), facts_of(config)
    if name is None:
        raise Unusable("the model is not named")
    if stated != "stated":
        raise Unusable(f"the model is {stated}")
    found = [card for card in named(name) if not facts.contradicted(card)]
    if found:
        return chosen(found, name)
    for card in named(name):
        raise Unusable(facts.contradicted(card))
    return matching(facts, name)


def facts_of(config: Cells) -> Facts:
    """What a row says of its model besides the name."""
    return Facts(
        params=text(config, "params"),
        layers=whole(config, "n_layer"),
        hidden=whole(config, "n_embd"),
        vocab=whole(config, "n_vocab"),
        kv_heads=whole(config, "n_head_kv"),
    )
