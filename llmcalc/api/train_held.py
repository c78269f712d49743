"""What the memory of a step takes for granted, in words."""

from __future__ import annotations

from llmcalc.blueprint.operations import Ledger
from llmcalc.engines.capacity import capacity
from llmcalc.engines.train.activations import LAYERS, again
from llmcalc.engines.train.frozen import quantises_experts
from llmcalc.engines.train.plan import Adapters, Plan
from llmcalc.engines.training import SHARDED
from llmcalc.spec.gpu import GpuSpec


def held(ledger: Ledger, plan: Plan, gpu: GpuSpec | None) -> dict[str, str | int | float]:
    """Assumptions by name, those alone that bear on the answer."""
    named: dict[str, str | int | float] = {
        "precision": plan.recipe.title,
        "optimizer": plan.optimizer.title,
        "framework": plan.framework.title,
        "sequence": plan.seq,
        "micro-batch": plan.micro_batch,
        "micro-batches a step": plan.micro_batches,
        "kernels": plan.kernels,
        "loss": plan.loss,
        "recompute": _recompute(ledger, plan),
        "dealt out": _dealt_out(plan),
        "not counted": "fragmentation beyond the allocator's reserve",
    }
    if plan.adapters:
        named["adapters"] = _adapters(plan.adapters, ledger)
        if plan.adapters.quantised and ledger.has_experts:
            named["experts"] = stored_experts(plan)
    if numbers := _of_towers(ledger):
        named["images and sound"] = _towers(numbers, frozen=plan.adapters is not None)
    if gpu:
        named["capacity"] = capacity(gpu).basis
    return named


def _recompute(ledger: Ledger, plan: Plan) -> str:
    """What is computed again; that of scores saves nothing where no kernel keeps them."""
    saved = any(again(one, plan) for one in ledger.sections if one.kind in LAYERS)
    if plan.recompute == "selective" and not saved:
        return f"selective, which saves nothing: {plan.kernels} kernels keep no scores"
    if plan.recompute == "full" and plan.one_in > 1:
        return f"full, of one in {plan.one_in} layers"
    return plan.recompute


def _dealt_out(plan: Plan) -> str:
    if not SHARDED[plan.sharding]:
        return "nothing (data parallel copies)"
    if plan.data_ranks == 1:
        return "nothing (one data rank)"
    parts = ", ".join(SHARDED[plan.sharding]).replace("_", " ")
    if plan.replicate == 1:
        return parts
    return f"{parts}, among {plan.shard_ranks} of {plan.data_ranks} data ranks (HSDP)"


def _adapters(adapters: Adapters, ledger: Ledger) -> str:
    """Each pair by the products that share it, and what becomes of experts."""
    beside = [name for pair in adapters.pairs for name in pair.products]
    joined = any(len(pair.products) > 1 for pair in adapters.pairs)
    said = f"rank {adapters.rank} beside {', '.join('+'.join(one[0]) for one in adapters.pairs)}"
    said += ", dropout on their inputs" if adapters.dropout else ", no dropout"
    if joined:
        said += ", joined ones with one first factor"
    if any(name.startswith("experts.") for name in beside):
        return f"{said}, a pair for each expert"
    return f"{said}, none beside experts" if ledger.has_experts else said


def stored_experts(plan: Plan) -> str:
    """How frozen experts are stored where other products are quantised."""
    if quantises_experts(plan):
        return f"frozen in {plan.frozen.name}, which takes experts that are products of their own"
    width = "float32" if plan.framework.widens_frozen else "16 bits"
    return f"frozen in {width}: bitsandbytes quantises no experts that are one parameter"


def _of_towers(ledger: Ledger) -> int:
    """Learned numbers of encoders of images and sound."""
    return sum(
        section.times * weight.numel
        for section in ledger.sections
        for operation in section.operations
        for weight in getattr(operation, "weights", ())
        if section.stream == "tower" and weight.learned
    )


def _towers(numbers: int, *, frozen: bool) -> str:
    """What is said of them, for no step feeds them anything."""
    states = "frozen" if frozen else "trained, with gradients and optimizer states"
    return (
        f"the {numbers:,} numbers of their encoders are {states}; their activations, FLOPs and time"
        " are not counted, for sequences are text"
    )
