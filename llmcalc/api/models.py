"""`models`: which models the catalog knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llmcalc import formula
from llmcalc.api.selection import Filter, selected
from llmcalc.blueprint import lower
from llmcalc.engines.params import count
from llmcalc.errors import LlmcalcError
from llmcalc.report.model import Column, Report, Table
from llmcalc.spec.card import ModelCard

ASSUMPTIONS = {"params": "learned parameters, tied weights once, MTP heads apart"}

_COLUMNS = (
    Column(key="model", title="model"),
    Column(key="family", title="family"),
    Column(key="params", title="parameters", unit="count"),
    Column(key="context", title="context", unit="tokens"),
    Column(key="released", title="released"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One model of the catalog."""

    model: str
    """Its name in the catalog."""
    family: str
    aliases: tuple[str, ...]
    """Other names it answers to."""
    params: int
    """Learned parameters in total."""
    active: int
    """Parameters used for one token."""
    context: int | None
    """The longest context in tokens; null: no limit."""
    released: str | None
    """Year and month."""
    confidence: str
    """How well the source of the card is confirmed."""
    source: str
    assumptions: Mapping[str, str]
    basis: str


def models(
    query: Sequence[str] = (),
    *,
    family: str | None = None,
    min_params: int | None = None,
    max_params: int | None = None,
) -> Report:
    """The models whose name, family or aliases hold every word of `query`, by family and size.

    `min_params` and `max_params` bound the total, both included.
    """
    broken: list[LlmcalcError] = []
    wanted = Filter(words=query, family=family, min_params=min_params, max_params=max_params)
    found = [_row(card) for card in selected(wanted, broken.append)]
    found.sort(key=lambda row: (row.family, row.params, row.model))
    return Report(
        command="models",
        results=tuple(found),
        tables=(Table(columns=_COLUMNS, rows=tuple(map(_cells, found))),),
        assumptions=tuple(ASSUMPTIONS.values()),
        warnings=tuple(error.message for error in broken),
    )


def _row(card: ModelCard) -> ModelRow:
    counted = count(lower(card))
    formula.record_sum(
        f"{card.name}.params",
        {str(name): size for name, size in counted.components.items()},
        "parameters",
    )
    return ModelRow(
        model=card.name,
        family=card.family,
        aliases=card.aliases,
        params=counted.total,
        active=counted.active,
        context=card.max_position_embeddings,
        released=card.released,
        confidence=card.confidence,
        source=card.source,
        assumptions=ASSUMPTIONS,
        basis="exact",
    )


def _cells(row: ModelRow) -> tuple[str | int | None, ...]:
    return row.model, row.family, row.params, row.context, row.released
