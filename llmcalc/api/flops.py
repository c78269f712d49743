"""`flops`: the arithmetic of a prefill, a decode step or a training step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from llmcalc.api.request import at_least_one, within_limit
from llmcalc.blueprint import lower
from llmcalc.engines import flops as engine
from llmcalc.engines import params as counting
from llmcalc.engines.flops import Flops
from llmcalc.engines.workload import Counted, Phase, Workload
from llmcalc.errors import ImpossibleError
from llmcalc.report.model import Column, Report, Table
from llmcalc.spec.card import ModelCard


@dataclass(frozen=True, slots=True, kw_only=True)
class FlopsResult:
    """FLOPs of one step; `matmul + attention + other = total`."""

    model: str
    phase: Phase
    matmul: int
    attention: int
    other: int
    """Convolutions and scans; elementwise work is not counted, as torch's counter does not."""
    total: int
    rule_of_thumb: int
    """2N (6N in training) times tokens, N the active parameters."""
    rule_error: float
    """(rule of thumb − total) / total."""
    model_flops: int
    """Without what flash attention computes twice in training: the numerator of MFU."""
    per_token: int | float
    tokens: int
    by_component: Mapping[str, int]
    basis: Literal["exact"]
    assumptions: Mapping[str, str | int]


def flops(
    card: ModelCard,
    *,
    batch: int = 1,
    seq: int = 2048,
    phase: Phase = "prefill",
    context: int | None = None,
    attention: Counted = "causal",
    force: bool = False,
) -> Report:
    """Count the FLOPs of one step.

    `seq` new tokens a sequence in prefill and training, one in decode; `context` tokens seen, new
    ones included (default: seq). Raises ImpossibleError for impossible sizes.
    """
    at_least_one(batch=batch, seq=seq, context=context)
    if phase == "decode" and not card.causal:
        raise ImpossibleError(
            f"{card.name} does not generate, so it has no decode step",
            hint="ask for --phase prefill",
        )
    workload = _workload(card, batch, seq, phase, context)
    within_limit(card, workload.context, option="--context" if context else "--seq", force=force)
    found = engine.count(lower(card, absorbed=phase == "decode"), workload, attention)
    count = counting.count(lower(card))
    rule: int = engine.rule_of_thumb(
        factor=6 if phase == "train" else 2, N=count.active, tokens=workload.tokens
    )
    result = _result(card, workload, found, rule, attention)
    return Report(
        command="flops",
        results=(result,),
        tables=(_table(result),),
        assumptions=tuple(f"{name} {value}" for name, value in result.assumptions.items()),
    )


def _workload(card: ModelCard, batch: int, seq: int, phase: Phase, context: int | None) -> Workload:
    query = 1 if phase == "decode" else seq
    seen = context or seq
    if seen < query:
        raise ImpossibleError(
            f"--context {seen} is less than the {query} new tokens",
            hint="the context includes the new tokens",
        )
    if phase == "train" and seen != seq:
        raise ImpossibleError(
            "--context does not go with --phase train", hint="a training step sees what it is fed"
        )
    encoder = (card.encoder.length or seen) if card.encoder else 0
    return Workload(phase=phase, batch=batch, query=query, context=seen, encoder=encoder)


def _result(
    card: ModelCard, workload: Workload, found: Flops, rule: int, mask: Counted
) -> FlopsResult:
    whole, rest = divmod(found.total, workload.tokens)
    return FlopsResult(
        model=card.name,
        phase=workload.phase,
        matmul=found.matmul,
        attention=found.attention,
        other=found.other,
        total=found.total,
        rule_of_thumb=rule,
        rule_error=(rule - found.total) / found.total,
        model_flops=found.model,
        per_token=found.total / workload.tokens if rest else whole,
        tokens=workload.tokens,
        by_component=found.by_component,
        basis="exact",
        assumptions=_assumptions(workload, mask),
    )


def _assumptions(workload: Workload, mask: Counted) -> dict[str, str | int]:
    named: dict[str, str | int] = {
        "batch": workload.batch,
        "new tokens a sequence": workload.query,
        "context": workload.context,
        "attention": mask,
        "FLOP": "2 a multiply-add",
        "head": "at every new position",
    }
    if workload.phase == "train":
        named["backward"] = "2 × forward for matmuls, 2.5 × for flash attention"
    return named


def _table(result: FlopsResult) -> Table:
    rows = [(name.replace("_", " "), size) for name, size in result.by_component.items() if size]
    rows += [("attention products", result.attention), ("total", result.total)]
    per_token = result.per_token
    return Table(
        title=f"{result.model}, {result.phase}, {result.tokens:,} tokens",
        columns=(
            Column(key="part", title="part"),
            Column(key="flop", title="FLOP", unit="flop"),
            Column(key="share", title="of total", unit="percent"),
        ),
        rows=(
            *((name, size, size / result.total) for name, size in rows),
            ("per token", per_token, None),
            (f"rule of thumb, {6 if result.phase == 'train' else 2}N", result.rule_of_thumb,
             result.rule_of_thumb / result.total),
        ),
        note=f"the rule is off by {100 * result.rule_error:+.1f} %",
    )  # fmt: skip
