"""From a measured training run to what `train` answers: what users see is what is scored."""

from __future__ import annotations

from llmcalc.api.plans import Asked, plan
from llmcalc.api.train import TrainPerGpu, TrainResult, train
from llmcalc.checks.measured.case import Prediction
from llmcalc.checks.measured.training import TrainingCase
from llmcalc.checks.measured.training_words import Memory


def trained(case: TrainingCase) -> Prediction:
    """The prediction for one run. Raises LlmcalcError where it is impossible."""
    asked = answer(case)
    held = asked.per_gpu
    return Prediction(
        weights=held.weights,
        kv_cache=0,
        activations=held.activations,
        kv_bytes_per_token=0,
        stored=held.weights,
        kv_room=None,
        kv_tokens=None,
        max_concurrency=None,
        fits=None if asked.verdict is None else asked.verdict != "no",
        capacity=asked.capacity,
        step=counted(held, case.memory, case.gpus) if case.memory else None,
    )


def counted(held: TrainPerGpu, memory: Memory, gpus: int) -> int:
    """Bytes of what a number counts."""
    return {
        "allocated": held.allocated,
        "reserved": held.reserved,
        "device": held.peak,
        "devices": held.peak * gpus,
    }[memory]


def answer(case: TrainingCase) -> TrainResult:
    """What `train` says of one run."""
    result: TrainResult
    (result,) = train(case.card, plan(asked_of(case)), gpu=case.gpu, force=True).results
    return result


def asked_of(case: TrainingCase) -> Asked:
    """The run in the words of `train`."""
    adapted = case.method != "full"
    return Asked(
        framework=case.framework,
        precision=case.recipe,
        optimizer=case.optimizer,
        method=case.method,  # type: ignore[arg-type]
        weights=case.weights if adapted else None,
        rank=case.rank or 8 if adapted else None,
        targets=case.targets if adapted else frozenset(),
        trained=case.trained if adapted else frozenset(),
        shard=case.sharding,
        gpus=case.gpus,
        tp=case.tp,
        pp=case.pp,
        vpp=case.vpp,
        cp=case.cp,
        ep=case.ep,
        micro_batch=case.micro_batch,
        global_batch=case.global_batch,
        seq=case.seq,
        kernels=None if case.flash else "eager",
        recompute=case.recompute,  # type: ignore[arg-type]
        one_in=case.one_in,
        offload=case.offload,  # type: ignore[arg-type]
    )
