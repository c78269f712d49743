"""Worked out: weights, masters and what the optimizer remembers, on one rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from llmcalc.blueprint.operations import Ledger
from llmcalc.engines import weights
from llmcalc.engines.train.frozen import frozen_bytes
from llmcalc.engines.train.passes import Moment
from llmcalc.engines.train.plan import Plan
from llmcalc.engines.train.states import states_of
from llmcalc.engines.train.trained import Tensor, trained
from llmcalc.engines.training import SHARDED, held_bytes
from llmcalc.formula import quietly, record, recording
from llmcalc.planner.worked_steps import STAGES, derived, told


def record_states(rank: Ledger, plan: Plan, peak: Moment) -> None:
    """Record what stands on a rank whatever the batch, as far as it is on the device."""
    with quietly():
        found = trained(rank, plan)
    if peak.weights:
        _weights(rank, plan, found, peak.weights)
    if peak.master_weights:
        told("master_weights", lambda: _dealt(found, plan, "master_weights"), plan.recipe.title)
    if peak.optimizer:
        _moments(found, plan, peak.optimizer)


def _weights(rank: Ledger, plan: Plan, found: tuple[Tensor, ...], held: int) -> None:
    note = f"{plan.recipe.title}; N: what is trained of them on this rank"
    if plan.adapters is None and plan.stages_held == 1:
        told("weights", lambda: _dealt(found, plan, "weights"), note)
        return
    with recording() as steps:
        own = _dealt(found, plan, "weights")
        stored = 0 if plan.adapters is None else sum(weights.by_group(rank, plan.frozen).values())
    with quietly():
        frozen = 0 if plan.adapters is None else frozen_bytes(rank, plan)
    named = {
        "weights": "frozen_weights" if frozen == stored else "stored_weights",
        "held_bytes": "trained_weights",
    }
    for step in steps:
        record(replace(step, name=named.get(step.name, step.name)))
    if frozen != stored:
        # Blocks of tiny tensors are padded beyond what 16 bits take.
        sign, name = ("+", "wider") if frozen > stored else ("−", "padding")
        apart = {"stored_weights": stored, name: abs(frozen - stored)}
        derived(
            "frozen_weights", f"stored_weights {sign} {name}", apart, frozen,
            source=plan.framework.title, note="what is not quantised, or is made float32",
        )  # fmt: skip
    values = {
        "trained_weights": own, "frozen_weights": frozen,
        "ranks": plan.shard_ranks if plan.sharded_weights else 1,
    }  # fmt: skip
    text, source = "trained_weights + ceil(frozen_weights / ranks)", "ZeRO, arXiv:1910.02054"
    if plan.stages_held > 1:
        text, source = f"{plan.stages_held} · ({text})", STAGES
    derived("weights", text, values, held, source=source)


def _moments(found: tuple[Tensor, ...], plan: Plan, held: int) -> None:
    """The states of each tensor, and how often it occurs."""
    alike = Counter[Tensor]()
    for one in found:
        alike[one._replace(times=1)] += one.times
    terms, sizes = {ranks: list[str]() for ranks in _ranks(found, plan)}, dict[str, int]()
    for number, (one, times) in enumerate(alike.items(), 1):
        name = f"moments_{number}"
        shape = " × ".join(f"{side:,}" for side in one.shape)
        told(name, lambda one=one: states_of(one, plan), shape)  # type: ignore[misc]
        with quietly():
            sizes[name] = states_of(one, plan)
        terms[one.ranks if _shared(plan, "optimizer") else 1].append(f"{times} · {name}")
    text = " + ".join(
        f"ceil(({' + '.join(each)}) / {ranks})" for ranks, each in terms.items() if each
    )
    source = f"{plan.optimizer.title}: each trained tensor as often as it occurs"
    derived("optimizer", text, dict(sizes), held, source=source)


def _dealt(found: tuple[Tensor, ...], plan: Plan, part: str) -> int:
    """Bytes of one part of the recipe, over the ranks that it is dealt out among."""
    each, total = getattr(plan.recipe, part), 0
    for ranks in _ranks(found, plan, part):
        numbers = sum(one.total for one in found if not _shared(plan, part) or one.ranks == ranks)
        total += int(held_bytes(N=numbers, bytes=each, ranks=ranks))
    return total


def _ranks(found: tuple[Tensor, ...], plan: Plan, part: str = "optimizer") -> Iterator[int]:
    """The numbers of ranks that something is dealt out among."""
    yield from dict.fromkeys(one.ranks for one in found) if _shared(plan, part) else (1,)


def _shared(plan: Plan, part: str) -> bool:
    return part in SHARDED[plan.sharding]
