"""From a measured configuration to what `memory` answers: what users see is what is scored."""

from __future__ import annotations

from dataclasses import replace

from llmcalc.api.memory import MemoryResult, Room, memory
from llmcalc.api.setup import setup
from llmcalc.checks.measured.case import Case, Prediction


def predict(case: Case) -> Prediction:
    """The prediction for a case. Raises LlmcalcError where it is impossible."""
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
