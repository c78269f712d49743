"""`show`: the card of a model, its operations, or the spec of a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from llmcalc.blueprint import lower
from llmcalc.blueprint.operations import Operation
from llmcalc.catalog.find import card, gpu, gpu_names
from llmcalc.errors import UnknownNameError
from llmcalc.report.model import Column, Report, Table
from llmcalc.spec.card import ModelCard

Stage = Literal["card", "ops", "gpu"]

_COLUMNS = (
    Column(key="section", title="section"),
    Column(key="times", title="times", unit="count"),
    Column(key="operation", title="operation"),
    Column(key="kind", title="kind"),
    Column(key="shapes", title="weights"),
    Column(key="params", title="parameters each", unit="count"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One card or spec, as its file says it with defaults left out."""

    name: str
    stage: Stage
    card: dict[str, Any] | None = None
    """The keys of the model card."""
    gpu: dict[str, Any] | None = None
    """The keys of the GPU spec."""
    operations: tuple[ShownOperation, ...] | None = None
    """The operations of the model for one token."""
    assumptions: Mapping[str, str] = field(default_factory=dict)
    basis: str = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOperation:
    """One operation of a model."""

    section: str
    """The kind of block it belongs to."""
    times: int
    """How often that block occurs."""
    operation: str
    kind: str
    weights: tuple[ShownWeight, ...]
    params: int
    """Learned parameters of one occurrence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownWeight:
    """One weight tensor."""

    name: str
    text: str
    """The shape in symbols."""
    shape: tuple[int, ...]
    component: str
    learned: bool


def show(name: str, *, stage: Stage | None = None) -> Report:
    """A model's card or operations, or a GPU's spec; without `stage`, whichever has that name.

    Raises UnknownNameError where neither has.
    """
    if stage == "gpu":
        return _gpu(name)
    if stage is not None:
        return _ops(card(name)) if stage == "ops" else _card(card(name))
    try:
        return _card(card(name))
    except UnknownNameError as error:
        try:
            return _gpu(name)
        except UnknownNameError:
            raise _unknown(name, error) from None


def _unknown(name: str, error: UnknownNameError) -> UnknownNameError:
    """One error for a name that is neither; the nearest GPU where no model is near."""
    from llmcalc.catalog.suggest import nearest  # noqa: PLC0415  (only on the way to an error)

    near = nearest(name[:100], gpu_names())
    hint = (
        error.hint if error.hint.startswith("did you mean") or not near else f"did you mean {near}?"
    )
    return UnknownNameError(f"no model and no GPU named {name[:100]!r}", hint=hint)


def _card(model: ModelCard) -> Report:
    from llmcalc.catalog.write import card_yaml, file_data  # noqa: PLC0415  (only this stage writes)

    shown = Shown(name=model.name, stage="card", card=file_data(model))
    return Report(command="show", results=(shown,), tables=(), text=card_yaml(model))


def _gpu(name: str) -> Report:
    from llmcalc.catalog.write import file_data, gpu_yaml  # noqa: PLC0415

    spec = gpu(name)
    shown = Shown(name=spec.name, stage="gpu", gpu=file_data(spec), basis="published")
    return Report(command="show", results=(shown,), tables=(), text=gpu_yaml(spec))


def _ops(model: ModelCard) -> Report:
    ledger = lower(model)
    operations = tuple(
        _operation(section.name, section.times, operation)
        for section in (*ledger.sections, *ledger.mtp)
        for operation in section.operations
    )
    assumptions = {"times": "each operation occurs `times` times"}
    shown = Shown(name=model.name, stage="ops", operations=operations, assumptions=assumptions)
    table = Table(columns=_COLUMNS, rows=tuple(map(_cells, operations)), title=model.name)
    return Report(
        command="show", results=(shown,), tables=(table,), assumptions=tuple(assumptions.values())
    )


def _operation(section: str, times: int, operation: Operation) -> ShownOperation:
    weights = getattr(operation, "weights", ())
    return ShownOperation(
        section=section,
        times=times,
        operation=operation.name,
        kind=type(operation).__name__,
        weights=tuple(
            ShownWeight(
                name=one.name,
                text=one.text,
                shape=one.shape,
                component=one.component,
                learned=one.learned,
            )
            for one in weights
        ),
        params=sum(one.numel for one in weights if one.learned),
    )


def _cells(row: ShownOperation) -> tuple[str | int, ...]:
    shapes = "; ".join(f"[{', '.join(map(str, one.shape))}]" for one in row.weights)
    return row.section, row.times, row.operation, row.kind, shapes, row.params
