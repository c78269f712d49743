"""How `fit --train all` looks: a row for each method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llmcalc.engines.largest import bounded
from llmcalc.report.model import Column, Row, Table

if TYPE_CHECKING:
    from llmcalc.api.trained import Trained

METHOD = Column(key="method", title="method")
MODEL = Column(key="model", title="model")
NEEDED = Column(key="needed", title="needed", unit="bytes")
CONTEXT = Column(key="max_context", title="max context", unit="tokens")
CHANGES = Column(key="changes", title="with")
"""Changes to what is assumed."""

Settled = tuple[str, "Trained | None"]
"""Names of changes, and the model after them."""


def largest(methods: Sequence[str], found: Sequence[Settled]) -> tuple[Table, ...]:
    """The largest model that fits, by method."""
    params = Column(key="params", title="params B", unit="billions")
    return (
        Table(
            title="the largest model that fits, by method",
            columns=(METHOD, MODEL, params, NEEDED, CONTEXT, CHANGES),
            rows=tuple(_largest(*each) for each in zip(methods, found, strict=True)),
            note="nothing is offloaded unless --offload says so; --train METHOD lists more models",
        ),
    )


def named(settled: Sequence[tuple[str, Trained]]) -> tuple[Table, ...]:
    """Each model by each method."""
    verdict = Column(key="verdict", title="verdict")
    batch = Column(key="max_batch", title="max batch", unit="count")
    return (
        Table(
            title="memory needed on each GPU in training, by method",
            columns=(MODEL, METHOD, verdict, NEEDED, batch, CONTEXT, CHANGES),
            rows=tuple(_named(*each) for each in settled),
            note="--train METHOD says what would make others fit",
        ),
    )


def _largest(method: str, found: Settled) -> Row:
    words, one = found
    if one is None:
        return (method, "none", None, None, None, None)
    return (
        method, one.card.name, one.params, one.needs.peak, bounded(one.max_context), words or None,
    )  # fmt: skip


def _named(words: str, one: Trained) -> Row:
    return (
        one.card.name, one.asked.method, one.verdict, one.needs.peak, one.max_batch,
        bounded(one.max_context), words or None,
    )  # fmt: skip
