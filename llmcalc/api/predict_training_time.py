"""From a measured training run to our tokens a second, MFU and GPU-hours."""

from __future__ import annotations

from functools import lru_cache

from llmcalc.api.same_card import SameCard
from llmcalc.blueprint import lower
from llmcalc.blueprint.operations import Ledger
from llmcalc.catalog import rates
from llmcalc.checks.measured.case import Prediction
from llmcalc.checks.measured.cases_of_training_time import HoursCase, TimeCase
from llmcalc.engines import params
from llmcalc.engines.steptime.amounts import amounts
from llmcalc.engines.steptime.machine import machine, reach_of
from llmcalc.engines.steptime.model_flops import model_flops
from llmcalc.engines.steptime.pace import TrainStep, train_step
from llmcalc.engines.steptime.published import published_mfu, whole_run
from llmcalc.engines.steptime.totals import published_hours
from llmcalc.errors import ImpossibleError
from llmcalc.spec.card import ModelCard
from llmcalc.spec.utilisation import Utilisation

USUAL_SEQ = 4096
"""Tokens of a sequence in pre-training, where the model's context is no shorter."""


def predict_training_time(case: TimeCase | HoursCase) -> Prediction:
    """The prediction for one run. Raises LlmcalcError where it is impossible."""
    every = rates.utilisation()
    if isinstance(case, HoursCase):
        known = whole_run(every, case.gpu)
        return Prediction(gpu_hours=steady_hours(case, every) / known.p50 if known else None)
    step = timed_step(case, every)
    rate = step.tokens_per_second_per_gpu
    return Prediction(
        trained_tokens_per_second=rate,
        mfu_pct=100 * rate * flops_per_token(case) / step.peak,
    )


def timed_step(case: TimeCase, every: Utilisation) -> TrainStep:
    """One step of a run."""
    reach = reach_of(every, case.gpu)
    peaks = machine(case.gpu, reach, bits=case.bits)
    return train_step(amounts(_ledger(case.card), case.run), case.run, peaks, every, reach)


def flops_per_token(case: TimeCase) -> float:
    """As the publisher's MFU counts them: six for each of its parameters, and attention whole."""
    ledger, seq = _ledger(case.card), case.run.seq
    attention = model_flops(ledger, seq) - model_flops(ledger, seq, "6n")
    counted = params.count(ledger)
    total = case.params * 1e9 if case.params else counted.total
    return 6 * total + attention / seq


def steady_hours(case: HoursCase, every: Utilisation, mfu: float | None = None) -> float:
    """GPU-hours at a steady MFU, the published median where none is given.

    Raises ImpossibleError where none is published of such a GPU.
    """
    ledger = _ledger(case.card)
    seq = min(case.card.max_position_embeddings or USUAL_SEQ, USUAL_SEQ)
    reach = reach_of(every, case.gpu)
    if mfu is None:
        known = published_mfu(every, case.gpu, params.count(ledger).active)
        if known is None:
            raise ImpossibleError(f"no utilisation is published of {case.gpu.name}")
        mfu = known.p50
    found: float = published_hours(
        flops=model_flops(ledger, seq) / seq, tokens=case.tokens,
        peak=machine(case.gpu, reach, bits=case.bits).compute,
        mfu=mfu, share=1.0,
    )  # fmt: skip
    return found


def _ledger(card: ModelCard) -> Ledger:
    return _lowered(SameCard(card))


@lru_cache(maxsize=64)
def _lowered(key: SameCard) -> Ledger:
    return lower(key.card)
