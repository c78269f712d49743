"""From a measured configuration to what `memory` answers: what users see is what is scored."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from llmcalc.api.memory import memory
from llmcalc.api.memory_result import MemoryResult, Room
from llmcalc.api.predict_training import trained
from llmcalc.api.predict_training_time import predict_training_time
from llmcalc.api.served import Load, saturated, serve
from llmcalc.api.setup import setup
from llmcalc.checks.measured.case import Case, Prediction, Run
from llmcalc.checks.measured.cases import AnyCase
from llmcalc.checks.measured.cases_of_training_time import HoursCase, TrainingRow
from llmcalc.errors import LlmcalcError
from llmcalc.planner.pace import Served
from llmcalc.spec.settings import Settings


def predict(case: AnyCase) -> Prediction:
    """The prediction for a case. Raises LlmcalcError where it is impossible."""
    if isinstance(case, HoursCase):
        return predict_training_time(case)
    if isinstance(case, TrainingRow):
        return _trained(case)
    if case.run is not None:
        return timed(case, case.run)
    asked = _answer(case)
    whole = asked
    if case.settings.n_gpu_layers is not None:
        # The log sums cache and file over devices and host, whatever stands where.
        whole = _answer(replace(case, settings=replace(case.settings, n_gpu_layers=None)))
    return Prediction(
        weights=asked.per_gpu.weights,
        kv_cache=whole.per_gpu.kv_cache,
        activations=asked.per_gpu.activations,
        kv_bytes_per_token=asked.kv_bytes_per_token,
        stored=whole.per_gpu.weights + whole.host,
        kv_room=asked.kv_room,
        kv_tokens=asked.kv_tokens,
        max_concurrency=asked.max_concurrency,
        fits=_fits(asked),
        capacity=asked.capacity,
    )


def _trained(case: TrainingRow) -> Prediction:
    """Memory and time of a training step, or the one of both that can be told."""
    timed = predict_training_time(case.time) if case.time else Prediction()
    try:
        held = trained(case.memory) if case.memory else Prediction()
    except LlmcalcError:
        if case.time is None:
            raise
        held = Prediction()  # a run whose speed is told, not its memory
    return replace(
        held, mfu_pct=timed.mfu_pct, trained_tokens_per_second=timed.trained_tokens_per_second
    )


def timed(case: Case, run: Run) -> Prediction:
    """Tokens a second of what was timed."""
    if case.gpu is None:
        return Prediction()
    served, room = _served(
        _Same(case.card), case.weights, case.keys, case.runtime, case.settings, _Same(case.gpu),
        case.tp, max(case.pp, run.layer_split), case.seq if run.batch is None else 0,
    )  # fmt: skip
    load = Load(batch=run.batch or 1, prompt=max(1, run.prompt), output=max(1, run.output))
    if run.phase == "load":
        return Prediction(saturated_tokens_per_second=saturated(served, load, room))
    if run.phase == "decode":
        step = served.decode(load.batch, max(1, run.context))
        return Prediction(decode_tokens_per_second=load.batch / step.seconds)
    seconds = served.prefill(load.batch, load.prompt).seconds
    return Prediction(prefill_tokens_per_second=load.batch * load.prompt / seconds)


class _Same:
    """A card or spec as a key: itself, not its like."""

    __slots__ = ("it",)

    def __init__(self, it: Any) -> None:
        self.it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.it is other.it

    def __hash__(self) -> int:
        return id(self.it)


@lru_cache(maxsize=512)
def _served(
    card: _Same, weights: str, kv: str, engine: str, settings: Settings, gpu: _Same, tp: int,
    pp: int, seq: int,
) -> tuple[Served, int | None]:  # fmt: skip
    """A model on its devices; rows that differ in lengths alone share it."""
    chosen = setup(weights=weights, kv=kv, engine=engine, settings=settings, tp=tp, pp=pp)
    return serve(card.it, chosen, gpu.it, Load(batch=1, prompt=max(1, seq), output=1))


def _answer(case: Case) -> MemoryResult:
    chosen = setup(
        weights=case.weights,
        kv=case.keys,
        kv_values=None if case.values == case.keys else case.values,
        engine=case.runtime,
        settings=case.settings,
        tp=case.tp,
        pp=case.pp,
        ep=case.ep,
    )
    room = Room(gpu=case.gpu, memory=case.memory, kv_budget=case.kv_budget)
    result: MemoryResult
    (result,) = memory(case.card, chosen, seq=case.seq, room=room, force=True).results
    return result


def _fits(result: MemoryResult) -> bool | None:
    """Whether one sequence of the longest length finds room."""
    if result.capacity is None or result.kv_room is None:
        return None
    if result.max_concurrency is None:
        return result.kv_room >= 0
    return result.kv_room > 0 and result.max_concurrency >= 1
