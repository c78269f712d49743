"""What `fit --train` answers of one model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from llmcalc.api.bands import step_band
from llmcalc.api.plans import Asked, plan
from llmcalc.api.train_advice import advise
from llmcalc.api.train_changes import options
from llmcalc.api.train_held import stored_experts
from llmcalc.api.trained import Limit, Trained
from llmcalc.engines.capacity import capacity
from llmcalc.engines.largest import bounded
from llmcalc.engines.train.plan import Method
from llmcalc.planner.advice import Advice
from llmcalc.planner.fit import COMFORT, Verdict
from llmcalc.spec.gpu import GpuSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainFitResult:
    """One model, trained so on the asked GPUs; bytes are of the fullest GPU."""

    model: str
    family: str
    params: int
    trainable: int
    method: Method
    verdict: Verdict
    needed: int
    capacity: int
    free: int
    max_batch: int
    """Sequences that go through at once on each data rank."""
    max_context: int | None
    """At this batch, within the model's own limit; null: nothing ends it."""
    limit: Limit
    """What takes most of what runs out."""
    context_limit: int | None
    seq: int
    batch: int
    gpu: str
    gpus: int
    options: str
    """The same training, as typed after `llmcalc train MODEL --gpu GPU`."""
    host: int
    """Bytes kept in the memory of the host instead, of all GPUs together."""
    parts: Mapping[str, int]
    advice: tuple[Advice, ...]
    """Changes; their options, too, are typed after `llmcalc train MODEL --gpu GPU`."""
    basis: Literal["modelled"]
    error_p50: float | None
    """Median relative error of such peaks on public measurements, if there are any."""
    error_p90: float | None
    """Nine in ten of them are within this."""
    assumptions: Mapping[str, str | int]


def result(one: Trained, gpu: GpuSpec) -> TrainFitResult:
    """All that is known of one model, advice included."""
    needs, asked = one.needs, one.asked
    band = step_band(plan(asked), one.ledger)
    return TrainFitResult(
        model=one.card.name, family=one.card.family, params=one.params, trainable=one.trainable,
        method=asked.method, verdict=one.verdict, needed=needs.peak, capacity=one.capacity,
        free=one.capacity - needs.peak, max_batch=one.max_batch,
        max_context=bounded(one.max_context), limit=one.limit, context_limit=one.context_limit,
        seq=asked.seq, batch=asked.micro_batch, gpu=gpu.name, gpus=asked.gpus,
        options=options(asked), host=one.host(asked),
        parts=needs.parts | {"runtime": needs.taken.total},
        advice=advise(one), basis="modelled", error_p50=band.p50 if band else None,
        error_p90=band.p90 if band else None, assumptions=assumed(asked, gpu),
    )  # fmt: skip


def assumed(asked: Asked, gpu: GpuSpec) -> dict[str, str | int]:
    """What is taken for granted, by name."""
    known, chosen = capacity(gpu), plan(asked)
    named: dict[str, str | int] = {
        "GPU": f"{asked.gpus} × {gpu.name}, {known.bytes / 2**30:.2f} GiB each {known.basis}",
        "method": asked.method,
        "precision": chosen.recipe.title,
        "optimizer": chosen.optimizer.title,
        "framework": chosen.framework.title,
        "sequence": asked.seq,
        "sequences at once on a rank": asked.micro_batch,
        "recompute": RECOMPUTED.get(asked.recompute, asked.recompute),
        "loss": chosen.loss,
        "dealt out": asked.shard if asked.gpus > 1 else "nothing",
        "offloaded": asked.offload,
        "fits": f"up to {COMFORT:g} of the memory",
    }
    if chosen.adapters:
        targets = ", ".join(sorted(chosen.adapters.targets))
        named["adapters"] = f"rank {chosen.adapters.rank} on {targets}"
        if chosen.adapters.quantised:
            named["experts"] = stored_experts(chosen)
    return named


RECOMPUTED = {"full": "full, as TRL, LLaMA-Factory, torchtune and axolotl do unless told not to"}
