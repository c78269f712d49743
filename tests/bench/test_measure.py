"""A run on a small device: each figure is there, or it is said why not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch

from llmcalc.bench import streams
from llmcalc.bench.buffers import Turns, copies, noise
from llmcalc.bench.judge import Judge, Refused
from llmcalc.bench.listener import Listener
from llmcalc.bench.measure import Bench
from llmcalc.bench.plan import Plan
from llmcalc.bench.record import recorded
from llmcalc.bench.samples import Samples
from llmcalc.spec.card import Block
from llmcalc.spec.measurement import Measurement
from llmcalc.spec.recurrent import RwkvChannel, RwkvTime
from tests.bench.machine import CARD, DEVICE, HASTY, PLAN

CALM = Samples((1e-3,) * 9)


class Heard(Listener):
    """Remembers."""

    def __init__(self) -> None:
        self.figures: list[str] = []
        self.ended = False

    def measures(self, what: str) -> None:
        """A figure."""
        self.figures.append(what)

    def ends(self) -> None:
        """The end."""
        self.ended = True


def run(
    monkeypatch: pytest.MonkeyPatch, samples: Samples, *, plan: Plan = PLAN, **more: object
) -> tuple[Bench, Heard]:
    """A run in which every call takes as long as `samples` say."""
    taken: Counter[str] = Counter()

    def timed(call: object, *_: object) -> Samples:
        assert callable(call)
        call()
        taken["calls"] += 1
        return samples

    monkeypatch.setattr("llmcalc.bench.judge.timed", timed)
    heard = Heard()
    found = Bench(DEVICE, replace(CARD, **more), plan, None, heard)  # type: ignore[arg-type]
    with torch.inference_mode():
        found.all()
    return found, heard


def saved(bench: Bench) -> Measurement:
    return recorded(bench, "here", None)


def test_everything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, heard = run(monkeypatch, CALM)
    found = saved(bench)
    assert {(one.operation, one.bytes) for one in found.streams} == {
        (operation, 4 * 2**12 * times)
        for operation in ("read", "copy", "triad")
        for times in (1, 2)
    }
    assert {(one.dtype, one.m) for one in found.matmuls if one.n == 24} == {
        ("bf16", 1), ("bf16", 2), ("bf16", 4), ("fp32", 1), ("fp32", 4),
        *((one.dtype, one.m) for one in found.matmuls if one.dtype == "int8"),
    }  # fmt: skip
    assert {(one.kernel, one.context) for one in found.attention} == {
        (kernel, context) for kernel in ("sdpa", "grouped") for context in (8, 16)
    }
    assert [(one.batch, one.context) for one in found.steps] == [(1, 8), (2, 8)]
    assert found.launch_seconds == 1e-3
    # 2^20 int8 weights, a millisecond
    assert found.dots_tflop_s == pytest.approx(2 * 2**20 / 1e-3 / 1e12)
    assert heard.ended
    assert not found.disturbed
    assert "read of 0 MiB" in heard.figures


def test_figures_are_bytes_over_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand, each call taking a millisecond."""
    found = saved(run(monkeypatch, CALM)[0])
    assert found.read_gb_s == pytest.approx(2**15 / 1e-3 / 1e9)
    assert found.copy_gb_s == pytest.approx(2 * 2**15 / 1e-3 / 1e9)
    assert found.triad_gb_s == pytest.approx(3 * 2**15 / 1e-3 / 1e9)
    # 4 layers of 7 products, and the head, a millisecond each
    elements = 4 * (2 * 512 + 2 * 256 + 3 * 384) + 512
    assert found.weights_gb_s == pytest.approx(2 * elements / 29e-3 / 1e9)
    # 2 heads of 8, keys and values, 16 tokens, two bytes
    assert found.kv_gb_s == pytest.approx(2 * 2 * 8 * 16 * 2 / 1e-3 / 1e9)
    step = found.steps[0]
    assert step.tokens_per_second == pytest.approx(1000)
    assert step.mbu == pytest.approx(
        (step.weight_bytes + step.kv_bytes) / 1e-3 / 1e9 / found.read_gb_s
    )
    assert step.predicted_seconds
    # seven products and two norms of eight operators a layer at least, a millisecond in all
    assert found.operator_seconds
    assert found.operator_seconds < 1e-3 / (16 * (7 + 2 * 8))
    assert step.predicted_seconds > step.operators * found.operator_seconds


def test_what_does_not_agree_is_refused_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    found = saved(run(monkeypatch, Samples((1e-3, 2e-3) * 5))[0])
    assert (found.read_gb_s, found.weights_gb_s, found.launch_seconds) == (None, None, None)
    assert (found.streams, found.matmuls, found.attention, found.steps) == ((), (), (), ())
    reasons = {one.figure: one.reason for one in found.refused}
    assert reasons["read of 0 MiB"] == "spread 67% is over 20%"
    assert reasons["launch of an operator"] == "spread 67% is over 20%"
    assert any(figure.startswith("bf16 matmul m 1,") for figure in reasons)
    assert reasons["decode step of batch 1, context 8"] == "spread 67% is over 20%"


def test_when_the_time_is_over_nothing_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    found = saved(run(monkeypatch, CALM, plan=replace(PLAN, seconds=1e-9))[0])
    assert (found.streams, found.matmuls, found.attention, found.steps) == ((), (), (), ())
    assert "the 0 seconds of --quick were over" in {one.reason for one in found.refused}


def test_in_haste_nothing_is_tried_twice() -> None:
    assert Judge(DEVICE, replace(HASTY, attempts=4)).effort.attempts == 4
    assert Judge(DEVICE, replace(HASTY, attempts=4), seconds=1e-9).effort.attempts == 1


def test_what_others_disturbed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = saved(run(monkeypatch, Samples(CALM.seconds, 80.0))[0])
    assert found.read_gb_s
    assert {"launch of an operator", "read of 0 MiB"} <= {one.figure for one in found.disturbed}


def test_a_model_without_attention_has_no_such_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = {"one": Block(parts=(RwkvTime(), RwkvChannel(intermediate_size=8)))}
    found = saved(run(monkeypatch, CALM, blocks=blocks)[0])
    assert found.kv_gb_s is None
    assert "small has none" in [one.reason for one in found.refused]
    assert len(found.steps) == 2


def test_an_encoder_takes_no_decode_step(monkeypatch: pytest.MonkeyPatch) -> None:
    found = saved(run(monkeypatch, CALM, causal=False)[0])
    assert not found.steps
    assert "small is no decoder" in [one.reason for one in found.refused]


def test_contexts_stay_within_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    found = saved(run(monkeypatch, CALM, max_position_embeddings=6)[0])
    assert {one.context for one in found.attention} == {6}
    assert {one.context for one in found.steps} == {6}


def test_a_machine_that_changed_meanwhile_is_measured_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changes = iter([0.3, 0.02])
    anew = []
    monkeypatch.setattr(Bench, "_change", lambda _: next(changes))
    monkeypatch.setattr(Bench, "_anew", lambda self: anew.append(len(self.steps)))
    found = saved(run(monkeypatch, CALM)[0])
    assert anew == [2]
    assert len(found.steps) == 2
    assert not found.disturbed


def test_a_machine_that_never_rests_gives_no_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bench, "_change", lambda _: -0.3)
    found = saved(run(monkeypatch, CALM)[0])
    assert [one.predicted_seconds for one in found.steps] == [None, None]
    reasons = {one.figure: one.reason for one in found.refused}
    assert reasons["prediction of the decode step"] == (
        "weights were read at 70% of their first speed afterwards"
    )


def test_a_peak_refuses_what_exceeds_it() -> None:
    judge = Judge(DEVICE, HASTY, 10.0)
    assert judge.possible("read", 10.5) == 10.5
    with pytest.raises(Refused, match=r"10\.6 GB/s is over 1\.05 of the peak, 10"):
        judge.possible("read", 10.6)


def test_what_torch_cannot_do_is_refused_in_its_words() -> None:
    judge = Judge(DEVICE, HASTY)

    def fails() -> None:
        raise NotImplementedError("no such kernel\nand much more")

    def full() -> None:
        raise torch.OutOfMemoryError

    assert judge.tried("a product", fails) is None
    assert judge.tried("another", full) is None
    assert [one.reason for one in judge.refused] == [
        "torch cannot do this here: no such kernel",
        "the device ran out of memory",
    ]


def test_arrays_are_several_times_the_cache_and_fit() -> None:
    assert streams.sizes(replace(DEVICE, cache=2**20, free=2**30), quick=False) == tuple(
        2**22 * times for times in (1, 2, 4, 8)
    )
    assert streams.sizes(replace(DEVICE, cache=2**25, free=2**30), quick=False) == (2**27,)
    assert streams.sizes(replace(DEVICE, cache=2**29, free=2**30), quick=True) == (170 * 2**20,)


def test_buffers_take_turns_and_exceed_the_cache() -> None:
    assert copies(bytes=2**20, cache=2**25, room=2**40) == 128
    assert copies(bytes=2**30, cache=2**25, room=2**40) == 2
    assert copies(bytes=2**20, cache=2**25, room=2**25) == 32
    turns = Turns(("a", "b"))
    assert [turns() for _ in range(3)] == ["a", "b", "a"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8])
def test_buffers_are_random_and_never_zeros(dtype: torch.dtype) -> None:
    found = noise((2**22 + 1000,), dtype, torch.device("cpu")).float()
    assert found[:1000].equal(found[2**22 :])
    assert (found == 0).float().mean() < 0.05
    assert found.std() > 0.5
