"""`params`: exact parameter counts by component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from llmcalc.blueprint import lower
from llmcalc.blueprint.weight import COMPONENTS
from llmcalc.engines import params as engine
from llmcalc.engines.params import ParamCount
from llmcalc.report.model import Column, Report, Table
from llmcalc.spec.card import ModelCard

BITS = {"fp32": 32, "bf16": 16, "fp8": 8, "int8": 8, "int4": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredItem:
    """A group of numbers in the published file."""

    name: str
    params: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What the published checkpoint holds, itemised; the items sum to the total."""

    total: int
    items: tuple[StoredItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedCount:
    """A count that somebody else published, and how it relates to `total`."""

    value: int
    relation: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamsResult:
    """Parameters of one model; the components sum to `total`."""

    model: str
    total: int
    active: int
    embedding: int
    attention: int
    mlp: int
    experts: int
    shared_expert: int
    router: int
    ssm: int
    norm: int
    lm_head: int
    vision: int
    other: int
    tied_embeddings: bool
    mtp: int
    """Multi-token prediction heads, their stored buffers included; not in total."""
    stored: Stored | None
    published: PublishedCount | None
    bytes: Mapping[str, int]
    """total × bits / 8 in each format, without scales; `memory --weights` counts those."""
    confidence: Literal["high", "medium", "low"]
    """How well the card's source is confirmed."""
    basis: Literal["exact"]
    assumptions: Mapping[str, str]


ASSUMPTIONS = {
    "counted": "learned tensors, tied ones once; no buffers, no MTP heads",
    "active": "every weight used for one token, input embedding included",
    "bytes": "nominal: total times bits, no scales",
}


def params(cards: Sequence[ModelCard]) -> Report:
    """Count the parameters of models. Exact; each count is the product of a weight's shape."""
    results = []
    for card in cards:
        ledger = lower(card)
        found = engine.count(ledger)
        engine.explain(ledger, found)
        results.append(_result(card, found))
    tables = _single(results[0]) if len(results) == 1 else (_side_by_side(results),)
    notes = [
        f"{card.name}: {card.notes}" for card in cards if card.confidence == "low" and card.notes
    ]
    return Report(
        command="params",
        results=tuple(results),
        tables=tables,
        assumptions=tuple(ASSUMPTIONS.values()),
        warnings=tuple(f"low confidence in {note}" for note in notes),
    )


def _result(card: ModelCard, found: ParamCount) -> ParamsResult:
    published = card.published
    return ParamsResult(
        model=card.name,
        total=found.total,
        active=found.active,
        **found.components,
        tied_embeddings=card.embedding.tied,
        mtp=found.mtp + found.mtp_buffers,
        stored=_stored(card, found),
        published=PublishedCount(
            value=published.params, relation=published.relation, source=published.source
        )
        if published
        else None,
        bytes={name: -(-found.total * bits // 8) for name, bits in BITS.items()},
        confidence=card.confidence,
        basis="exact",
        assumptions=ASSUMPTIONS,
    )


def _stored(card: ModelCard, found: ParamCount) -> Stored | None:
    """The published file item by item; what no item explains is one of its own."""
    if card.published is None:
        return None
    items = {"parameters": found.total, "router correction biases": found.buffers}
    items |= {tensor.name: _product(tensor.shape) for tensor in card.stored}
    with_mtp = found.mtp + found.mtp_buffers
    if card.published.params >= sum(items.values()) + with_mtp:
        items["multi-token prediction"] = with_mtp
    items["unexplained"] = card.published.params - sum(items.values())
    return Stored(
        total=card.published.params,
        items=tuple(StoredItem(name=name, params=size) for name, size in items.items() if size),
    )


def _product(shape: tuple[int, ...]) -> int:
    product = 1
    for axis in shape:
        product *= axis
    return product


def _single(result: ParamsResult) -> tuple[Table, ...]:
    """One model: its components, what the file holds beyond them, its size in each format."""
    parts = [(name.replace("_", " "), getattr(result, name)) for name in COMPONENTS]
    rows = [(name, size, size / result.total) for name, size in parts if size]
    rows.append(("total", result.total, 1.0))
    if result.active != result.total:
        rows.append(("active", result.active, result.active / result.total))
    components = Table(
        title=result.model,
        columns=(
            Column(key="component", title="component"),
            Column(key="params", title="parameters", unit="count"),
            Column(key="share", title="share", unit="percent"),
        ),
        rows=tuple(rows),
        note="input embedding and output head share one table" if result.tied_embeddings else "",
    )
    return (components, *_stored_table(result), _sizes(result))


def _stored_table(result: ParamsResult) -> tuple[Table, ...]:
    """Only where the published file holds something else."""
    if result.stored is None or result.stored.total == result.total:
        return ()
    rows = [(item.name, item.params) for item in result.stored.items]
    return (
        Table(
            title="published checkpoint",
            columns=(
                Column(key="stored", title="holds"),
                Column(key="numbers", title="numbers", unit="count"),
            ),
            rows=(*rows, ("total", result.stored.total)),
        ),
    )


def _sizes(result: ParamsResult) -> Table:
    return Table(
        title="weights",
        columns=(
            Column(key="format", title="format"),
            Column(key="bytes", title="size", unit="bytes"),
        ),
        rows=tuple(result.bytes.items()),
    )


def _side_by_side(results: Sequence[ParamsResult]) -> Table:
    return Table(
        columns=(
            Column(key="model", title="model"),
            Column(key="total", title="total", unit="count"),
            Column(key="active", title="active", unit="count"),
            Column(key="bf16", title="bf16", unit="bytes"),
            Column(key="int4", title="int4", unit="bytes"),
        ),
        rows=tuple((r.model, r.total, r.active, r.bytes["bf16"], r.bytes["int4"]) for r in results),
    )
