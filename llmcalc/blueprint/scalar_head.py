"""Reward and value models: a language model whose head puts out one number a token."""

from __future__ import annotations

from llmcalc.blueprint.operations import Ledger, Matmul, Operation, Section
from llmcalc.blueprint.weight import weight


def with_scalar_head(ledger: Ledger) -> Ledger:
    """The same model with one number in place of the logits.

    A tied head leaves its table behind, which is the embedding's.
    """
    sections = tuple(
        section._replace(operations=_scored(section, ledger)) if section.kind == "last" else section
        for section in ledger.sections
    )
    return ledger._replace(sections=sections, mtp=())


def _scored(section: Section, ledger: Ledger) -> tuple[Operation, ...]:
    heads = [one for one in section.operations if isinstance(one, Matmul) and _is_head(one)]
    d = heads[0].weight.shape[-1] if heads else ledger.hidden_size
    score = weight("score", "1, d", {"d": d}, "lm_head", "head")
    kept = tuple(one for one in section.operations if not _is_head(one))
    return (*kept, Matmul(name="lm_head", weight=score))


def _is_head(operation: Operation) -> bool:
    return isinstance(operation, Matmul) and operation.weight.component == "lm_head"
