"""From a plan of training to how its step is run."""

from __future__ import annotations

from math import prod
from typing import Any

from llmcalc.blueprint.operations import GroupedMatmul, Ledger, Matmul
from llmcalc.engines.steptime.run import Dealt, Run
from llmcalc.engines.train.plan import Plan
from llmcalc.engines.train.states import state_bytes
from llmcalc.engines.train.trained import Tensor, count, factors
from llmcalc.engines.training import Sharding
from llmcalc.formula import quietly

DEALT: dict[Sharding, Dealt] = {
    "ddp": "nothing", "zero1": "optimizer", "zero2": "gradients", "zero3": "weights",
    "fsdp": "weights",
}  # fmt: skip
BITS = 8


def run_of(plan: Plan, ledger: Ledger) -> Run:
    """The step of a plan for a model."""
    recipe = plan.recipe
    return Run(
        parallel=plan.parallel, seq=plan.seq, micro_batch=plan.micro_batch,
        micro_batches=plan.micro_batches, vpp=plan.vpp,
        schedule=plan.schedule, dealt=DEALT[plan.sharding], replicate=plan.replicate,
        layers_again=1.0 / plan.one_in if plan.recompute == "full" else 0.0,
        attention_again=plan.recompute == "selective", adapters=plan.adapters is not None,
        weight_bytes=plan.frozen.bits / BITS if plan.adapters else recipe.weights,
        gradient_bytes=recipe.gradients, updated_bytes=_updated(plan),
        states_on_host=plan.offload in {"optimizer", "all"},
        paged_bytes=_states(plan) if plan.optimizer.paged else 0.0,
        weights_on_host=plan.offload in {"parameters", "all"},
        host_bytes=recipe.gradients + recipe.weights
        + 2 * (recipe.optimizer + (recipe.master_weights or recipe.weights)),
        **_beside(plan, ledger),
    )  # fmt: skip


def _beside(plan: Plan, ledger: Ledger) -> dict[str, Any]:
    """What is trained beside frozen weights, and what it computes."""
    if plan.adapters is None:
        return {}
    flops = table = 0.0
    for section in ledger.sections:
        for operation in section.operations:
            if not isinstance(operation, (Matmul, GroupedMatmul)):
                continue
            visited = 1.0
            if isinstance(operation, GroupedMatmul):
                visited = operation.top_k / operation.weight.shape[0]
            numbers = sum(prod(one) for one in factors(operation, plan.adapters) if len(one) > 1)
            flops += 2 * section.times * visited * numbers
            if operation.weight.component == "lm_head" and "head" in plan.adapters.trained:
                table += 2 * operation.weight.numel
    with quietly():
        trained = count(ledger, plan)
    return {"trained": trained, "beside_flops": flops, "table_flops": table}


def _updated(plan: Plan) -> float:
    """Bytes of a weight that an update reads and writes."""
    recipe = plan.recipe
    written = recipe.weights if recipe.master_weights else 0
    kept = recipe.master_weights or recipe.weights
    return recipe.gradients + written + 2 * (kept + _states(plan))


def _states(plan: Plan) -> float:
    """Bytes of the states of a weight in a large matrix."""
    side = 4096
    large = Tensor((side, side), 1, matrix=True, ranks=1)
    return state_bytes(large, plan.optimizer, plan.recipe) / side**2
