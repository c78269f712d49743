"""What an answer of `rlhf` rests on."""

from __future__ import annotations

from llmcalc.api.rlhf_run import Run
from llmcalc.engines.capacity import capacity
from llmcalc.engines.rlhf.rollout import Rollout
from llmcalc.engines.train.plan import Plan
from llmcalc.spec.gpu import GpuSpec


def assumptions(
    run: Run, engine: Rollout | None, gpu: GpuSpec | None
) -> dict[str, str | int | float]:
    """What an answer rests on, in words."""
    plan = run.plan
    named: dict[str, str | int | float] = {
        "algorithm": run.algorithm.title,
        "precision": plan.recipe.title,
        "framework": plan.framework.title,
        "sequence": f"{run.prompt_tokens} of prompt and {run.output_tokens} of completion",
        "logits": "of completions" if plan.with_logits else "of prompts and completions",
        "sequences at once": plan.micro_batch,
        "idle models": "on the host" if run.idle_on_host else "stay on the GPU",
        "scoring": "one model after another, a layer's tensors and its logits",
    }
    if plan.adapters:
        named["reference"] = "the policy without its adapters"
    if engine:
        chosen = run.engine.setup
        named["engine"] = f"{chosen.runtime.name} {chosen.runtime.version}, tp {run.engine.tp}"
        named["engine's weights"] = f"{chosen.weights.title}, a copy of its own"
        named["sequences made at once"] = run.rolled_at_once
        named["new weights"] = _handed(plan)
        if not run.engine.gpus:
            named["while others compute"] = (
                "weights and cache of the engine leave" if run.engine.sleeps else "the engine stays"
            )
        if run.pace.group is None and run.sequences < run.algorithm.group:
            named["group"] = (
                f"{run.sequences} of each prompt, not the usual {run.algorithm.group}: "
                "an iteration makes no more"
            )
    if gpu:
        named["capacity"] = capacity(gpu).basis
        if engine:
            rules = not any(role.name == "reward" for role in run.cast.roles(run.algorithm))
            at_once = "; rules give rewards at once" if rules else ""
            named["time"] = f"every completion of full length{at_once}"
        if run.idle_on_host or plan.offload != "none":
            named["not timed"] = "what goes to the host and back, but for the policy's weights"
    return named


def _handed(plan: Plan) -> str:
    """How they reach the engine."""
    ways = plan.framework.rlhf
    if ways.merges_whole and plan.adapters and plan.sharded_weights:
        return "gathered whole, adapters merged in, before the cache is there"
    how = f"in a buffer of {ways.bucket} bytes" if ways.bucket else "one tensor after another"
    return f"{how}, before the cache is there"
