"""How are weights stored that adapters stand beside? As their format says, or wider."""

from __future__ import annotations

from math import prod

from llmcalc.blueprint.operations import Ledger
from llmcalc.engines import weights
from llmcalc.engines.train.plan import Plan

NARROW = {"bf16", "fp16"}
HALF, FLOAT32 = 2, 4


BITSANDBYTES = "bitsandbytes"


def frozen_bytes(ledger: Ledger, plan: Plan) -> int:
    """Bytes of all frozen weights of a ledger, whole."""
    if plan.adapters is None or not plan.adapters.quantised:
        return sum(weights.by_group(ledger, plan.frozen).values())
    if quantises_experts(plan) and not plan.framework.widens_frozen:
        return sum(weights.by_group(ledger, plan.frozen).values())
    return sum(_bytes(one, plan) for one in weights.by_tensor(ledger, plan.frozen))


def quantises_experts(plan: Plan) -> bool:
    """Whether experts are quantised; a file that is quantised already has them as they are."""
    library = (plan.frozen.adapters or "").partition(":")[0]
    return plan.framework.quantised_experts or library != BITSANDBYTES


def _bytes(tensor: weights.Tensor, plan: Plan) -> int:
    """Of one tensor; what stays in 16 bits may be made float32."""
    left_out = tensor.group == "experts" and not quantises_experts(plan)
    if not left_out and tensor.format.name not in NARROW:
        return tensor.bytes
    width = FLOAT32 if plan.framework.widens_frozen else HALF
    return width * prod(tensor.shape) * tensor.times
