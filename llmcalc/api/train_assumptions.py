"""What the time of a step and of a run takes for granted, in words."""

from __future__ import annotations

from llmcalc.api.train_time import Asked, TrainTime
from llmcalc.catalog.rates import utilisation
from llmcalc.engines.device import GB, host_link
from llmcalc.engines.goodput import DEVICE_MTBF_HOURS
from llmcalc.engines.steptime.machine import HOST_GB_S, node_of, reach_of
from llmcalc.engines.train.plan import Plan
from llmcalc.spec.gpu import GpuSpec


def assumed(plan: Plan, gpu: GpuSpec, asked: Asked, found: TrainTime) -> dict[str, str]:
    """Assumptions by name, those alone that bear on the answer."""
    named: dict[str, str] = {}
    if "bf16" in plan.recipe.name and gpu.compute.bf16 is None:
        named["timed"] = "at the rate of fp16, for this GPU has no bf16"
    reach = reach_of(utilisation(), gpu)
    if reach.n is None:
        named["rates"] = f"as those of the class {reach.name}: {reach.source}"
    node = node_of(gpu)
    if plan.parallel.gpus > node:
        rate = asked.network_gb_s or reach.network_gb_s
        named["network"] = f"{rate:g} GB/s for each GPU between nodes of {node}"
    if plan.sharded_weights and plan.shard_ranks > node and found.parts.get("gradients"):
        named["data ranks"] = (
            f"NCCL's rings wait for each of {plan.shard_ranks:,} ranks; --replicate shortens them"
        )
    if plan.offload != "none":
        named["host"] = _host(gpu)
        if plan.offload_to == "nvme":
            named["NVMe"] = "its time is not counted: that of the host's memory stands for it"
    if asked.tokens or asked.samples:
        hours = asked.mtbf_hours or DEVICE_MTBF_HOURS
        said = "" if asked.mtbf_hours else ", as in Llama 3's run"
        named["failures"] = f"one in {hours:,.0f} hours of a GPU{said}"
    return named


def _host(gpu: GpuSpec) -> str:
    said = "" if gpu.pcie else ", for its spec names no slot"
    return (
        f"{host_link(gpu) / GB:.0f} GB/s to each GPU{said}; Adam there goes through "
        f"{HOST_GB_S:.0f} GB/s of memory, as on a DGX-2 (ZeRO-Offload)"
    )
