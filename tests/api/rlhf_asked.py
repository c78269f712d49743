"""`rlhf` asked in few words, and numbers of Llama 2 7B by hand."""

from __future__ import annotations

from typing import Any

from llmcalc.api.plans import Asked, plan
from llmcalc.api.rlhf import Cast, Engine, Pace, RlhfResult, Run, rlhf
from llmcalc.api.rlhf_result import RoleRow
from llmcalc.api.setup import setup
from llmcalc.catalog.find import card, gpu
from llmcalc.catalog.recipes import algorithm
from llmcalc.spec.settings import Settings

N = 6_738_415_616
"""Llama 2 7B: 32 · (4 · 4096² + 3 · 4096 · 11,008 + 2 · 4096) + 2 · 32,000 · 4096 + 4096."""
SCALAR = N - 32_000 * 4096 + 4096
"""The same with one output in place of 32,000."""
GIB = 2**30


def run(
    algo: str = "ppo",
    *,
    name: str = "llama2-7b",
    on: str | None = None,
    cast: dict[str, Any] | None = None,
    engine: dict[str, Any] | None = None,
    share: float | None = None,
    tp: int = 1,
    idle: bool = False,
    prompt: int | None = None,
    pace: dict[str, Any] | None = None,
    **asked: Any,
) -> RlhfResult:
    """What `rlhf` answers; the rest is asked of `train`."""
    chosen = setup(engine="vllm", tp=tp, settings=Settings(gpu_memory_utilization=share))
    wanted = Run(
        algorithm=algorithm(algo),
        cast=Cast(policy=card(name), **(cast or {})),
        plan=plan(Asked(**asked)),
        engine=Engine(setup=chosen, **(engine or {})),
        idle_on_host=idle, prompt=prompt, pace=Pace(**(pace or {})),
    )  # fmt: skip
    (found,) = rlhf(wanted, gpu=gpu(on) if on else None).results
    assert isinstance(found, RlhfResult)
    return found


def roles(found: RlhfResult) -> dict[str, RoleRow]:
    """Its roles by name."""
    return {row.role: row for row in found.roles}
