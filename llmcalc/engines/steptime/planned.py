"""From a plan of training to how its step is run."""

from __future__ import annotations

from llmcalc.engines.steptime.run import Dealt, Run
from llmcalc.engines.train.plan import Plan
from llmcalc.engines.training import Sharding

DEALT: dict[Sharding, Dealt] = {
    "ddp": "nothing", "zero1": "optimizer", "zero2": "gradients", "zero3": "weights",
    "fsdp": "weights",
}  # fmt: skip
BITS = 8


def run_of(plan: Plan) -> Run:
    """The step of a plan; offloading is not timed."""
    return Run(
        parallel=plan.parallel, seq=plan.seq, micro_batch=plan.micro_batch,
        micro_batches=plan.micro_batches, vpp=plan.vpp,
        schedule=plan.schedule, dealt=DEALT[plan.sharding], replicate=plan.replicate,
        layers_again=1.0 if plan.recompute == "full" else 0.0,
        attention_again=plan.recompute == "selective", adapters=plan.adapters is not None,
        weight_bytes=plan.frozen.bits / BITS if plan.adapters else plan.recipe.weights,
        gradient_bytes=plan.recipe.gradients,
    )  # fmt: skip
