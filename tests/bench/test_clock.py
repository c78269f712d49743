"""How samples are taken, on a clock that calls themselves advance."""

from __future__ import annotations

import pytest
import torch

from llmcalc.bench import clock, host
from llmcalc.bench.effort import Effort
from llmcalc.bench.samples import FEWEST

CPU = torch.device("cpu")
EFFORT = Effort(shortest=0.016, repeats=7, budget=10.0, attempts=3)


class Work:
    """A call that takes as long as it is told, on a clock of its own."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *seconds: float, interrupted: int = 0
    ) -> None:
        self.now, self.calls, self.seconds = 0.0, 0, seconds
        self.interrupted = interrupted
        monkeypatch.setattr(clock, "perf_counter", lambda: self.now)
        monkeypatch.setattr(host, "interruptions", lambda: self.calls * self.interrupted)

    def __call__(self) -> None:
        """Let the time pass."""
        self.now += self.seconds[min(self.calls, len(self.seconds) - 1)]
        self.calls += 1


def test_short_calls_are_repeated_within_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch, 2**-9)
    found = clock.timed(work, CPU, EFFORT)
    assert found.seconds == (2**-9,) * 7
    # three to warm up, one and nine to learn how many are 16 ms, seven samples of nine
    assert work.calls == 3 + 1 + 9 + 7 * 9


def test_warming_up_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(clock.timed(Work(monkeypatch, 5.0, 3.0, 2.0, 1.0), CPU, EFFORT).seconds) == {1.0}


def test_long_calls_end_with_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    found = clock.timed(Work(monkeypatch, 4.0), CPU, EFFORT)
    assert found.seconds == (4.0,) * FEWEST


def test_samples_that_disagree_are_taken_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    torn = (1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0)
    work = Work(monkeypatch, *(1.0,) * 5, *torn, 1.0)
    assert clock.timed(work, CPU, EFFORT).seconds == (1.0,) * 7
    assert work.calls == 5 + 7 + 7


def test_samples_that_never_agree_are_given_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch, *(1.0,) * 5, *(1.0, 2.0) * 50)
    assert clock.timed(work, CPU, EFFORT).spread > 0.2
    assert work.calls == 5 + 3 * 7


def test_others_on_the_cores_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    work = Work(monkeypatch, 0.0625, interrupted=25)
    found = clock.timed(work, CPU, EFFORT)
    # 25 a call of a sixteenth of a second, on two threads
    assert found.interrupted == 25 * 16 / 2
    assert work.calls == 5 + 3 * 7
