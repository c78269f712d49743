"""What a framework takes beyond live tensors."""

from __future__ import annotations

from dataclasses import replace

from llmcalc.api.plans import Asked, plan
from llmcalc.engines.train.runtime import Overhead, least, overhead

GIB = 2**30


def test_context_is_taken_always_and_communication_by_several() -> None:
    alone, pair = plan(Asked()), plan(Asked(gpus=2))
    one, two = overhead(alone, 100 * GIB), overhead(pair, 100 * GIB)
    assert one == Overhead(reserve=5 * GIB, context=GIB // 2, communication=0)
    assert two.communication == GIB


def test_most_of_a_reserve_is_given_back_before_a_run_fails() -> None:
    taken = Overhead(reserve=5 * GIB, context=GIB, communication=0)
    assert least(taken, 125 * GIB) == GIB + 4 * GIB
    small = replace(taken, reserve=GIB)
    assert least(small, 100 * GIB) == 2 * GIB
