"""Fit what training frameworks take beyond what their code says on public measurements.

Usage: python tools/fit_training.py

Prints what stands in llmcalc/frameworks/*.yaml, with the rows it comes from and their residuals;
tests/test_fits.py compares the two. Three kinds of constants are fitted, all else has a source:

- reserve: what torch's allocator reserved over the modelled live tensors, as a share (median);
- context: what the driver showed over reserved memory (median of the rows);
- choices: of a few ways that a framework may work, where its code does not tell, the one whose mean
  error on its rows is least.

What the allocator cannot give back (engines/train/runtime.py) is bounded by two runs near the end
of their GPU, one that ran and one that did not.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from statistics import mean, median
from typing import Any

from llmcalc.api.plans import lowered, plan
from llmcalc.api.predict_training import asked_of, counted
from llmcalc.api.targets import placed
from llmcalc.api.train import train
from llmcalc.checks.measured.metric import step_gib
from llmcalc.checks.measured.reading import read
from llmcalc.checks.measured.training import TrainingCase, training
from llmcalc.checks.measured.training_words import Memory
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.engines.capacity import capacity
from llmcalc.engines.train.plan import Plan
from llmcalc.errors import LlmcalcError
from llmcalc.planner.training import needed_by

DATA = pathlib.Path(__file__).parents[1] / "llmcalc" / "measurements"
GIB = 2**30
USUAL = 0.05
"""Reserve of a framework whose rows do not tell it: what public notes on fragmentation say."""
SHORT = 1024
"""Tokens up to which rows tell of the context, and little of activations."""
CHOICES: Mapping[tuple[str, str, str], tuple[Any, ...]] = {
    ("litgpt", "qlora", "quantised_inputs"): (0, 1, 2, 3),
    ("litgpt-2023", "qlora", "quantised_inputs"): (0, 1, 2, 3),
    ("litgpt-2023", "lora", "keeps_gathered"): (False, True),
    ("torchtune", "full", "persistent_gradients"): (False, True),
}
"""Framework, method and field, and the ways that it may work."""
RAN, DID_NOT = "me0256", "oo0009"
"""Yi-34B under FSDP and Llama-2-13B, both with little room left or missing."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One row: what was configured, and bytes as measured."""

    row: str
    memory: Memory
    case: TrainingCase
    plan: Plan
    size: float

    @property
    def live(self) -> int:
        """Bytes of live tensors as modelled."""
        return answer(self).allocated


@cache
def cases() -> tuple[Measured, ...]:
    """Rows whose configuration is known and allowed."""
    found = []
    for row in read(str(DATA / "training_memory.tsv")):
        try:
            case = training(row.config)
            size = step_gib({**row.config, **row.measured})
            if case.missing or size is None or case.memory is None:
                continue
            found.append(Measured(row.id, case.memory, case, plan(asked_of(case)), size * GIB))
        except (Unusable, LlmcalcError):
            continue
    return tuple(found)


def answer(one: Measured, **changed: Any) -> Any:
    """What `train` says of a row, with its framework changed."""
    framework = replace(one.plan.framework, **changed)
    (result,) = train(one.case.card, replace(one.plan, framework=framework)).results
    return result.per_gpu


def rows(memory: str) -> Iterator[Measured]:
    """Rows whose number counts one kind of memory; of the driver's, those that tell its part."""
    for one in cases():
        if one.memory == memory and (memory != "device" or _short(one.case)):
            yield one


def _short(case: TrainingCase) -> bool:
    return case.gpus == 1 and case.seq <= SHORT and case.method != "full" and not case.trained


def reserve(framework: str) -> tuple[float, int]:
    """The share that the allocator holds beyond live tensors, and on how many rows."""
    found = [one.size / one.live - 1 for one in rows("reserved") if one.case.framework == framework]
    return round(median(found), 3), len(found)


def context(framework: str) -> tuple[int, int]:
    """Bytes beyond reserved memory, to whole MiB, and on how many rows."""
    found = [
        one.size - one.live * (1 + USUAL)
        for one in rows("device")
        if one.case.framework == framework
    ]
    return round(median(found) / 2**20) * 2**20, len(found)


def choice(framework: str, method: str, field: str) -> dict[Any, float]:
    """The mean error of each way that a framework may work, on its rows of one method."""
    chosen = [
        one for one in cases() if (one.case.framework, one.case.method) == (framework, method)
    ]
    return {
        value: mean(_off(one, **{field: value}) for one in chosen)
        for value in CHOICES[framework, method, field]
    }


def _off(one: Measured, **changed: Any) -> float:
    return abs(counted(answer(one, **changed), one.memory, one.case.gpus) / one.size - 1)


def fragments() -> tuple[float, float]:
    """What the run that failed must have lacked at least, the one that ran at most, as shares."""
    bounds = {}
    for file in ("training_memory.tsv", "training_oom.tsv"):
        for row in read(str(DATA / file)):
            if row.id in {RAN, DID_NOT}:
                case = training(row.config)
                bounds[row.id] = _room(case, capacity(case.gpu).bytes if case.gpu else 0)
    return bounds[DID_NOT], bounds[RAN]


def _room(case: TrainingCase, offered: int) -> float:
    """What is left over live tensors and the driver's part, as a share of live tensors."""
    asked = plan(asked_of(case))
    ledger = lowered(case.card, asked.framework)
    needs = needed_by(ledger, placed(asked, case.card, ledger))
    fixed = needs.taken.context + needs.taken.communication
    return (offered - fixed) / needs.live - 1


def main() -> None:
    """Print the constants."""
    for name in ("fsdp-qlora", "torchtune"):
        share, n = reserve(name)
        print(f"{name} reserve: {share} (n = {n})")
    for name in ("qwen", "qwen-deepspeed"):
        size, n = context(name)
        print(f"{name} context: {size} ({size / GIB:.2f} GiB, n = {n})")
    for name, method, field in CHOICES:
        errors = choice(name, method, field)
        said = ", ".join(f"{value} {error:.1%}" for value, error in errors.items())
        print(f"{name} {field}, mean error of {method}: {said}")
    low, high = fragments()
    print(f"fragments: between {low:.3f} ({DID_NOT}) and {high:.3f} ({RAN})")
    for one in rows("reserved"):
        print(f"  {one.row} {one.case.framework} {one.size / one.live - 1:+.3f}")


if __name__ == "__main__":
    main()
