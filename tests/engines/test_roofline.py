"""Time of a step by hand: the slower of reading and computing, and what waits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmcalc.catalog.find import gpu
from llmcalc.engines.device import Device, chosen, link, peak_compute
from llmcalc.engines.roofline import step_time, together
from llmcalc.engines.work import Product, Work
from llmcalc.spec.efficiency import Devices, Efficiency, Reach

HALF = Reach(
    weights=0.5, experts=0.25, cache=0.8, cache_plain=0.4, compute=0.5, layer_seconds=2.0,
    step_seconds=3.0, source="by hand",
)  # fmt: skip
DEVICE = Device(name="d", bandwidth=100.0, compute=1_000.0, reach=HALF, link=10.0, link_seconds=0.5)
WORK = Work(
    products=(Product(name="mlp", bytes=200, flops=400), Product(name="head", bytes=10, flops=900)),
    cache_bytes=80, attention_flops=100, layers=2, tokens=1, resident=300, exchanges=4,
    exchanged=5,
)  # fmt: skip


def test_each_group_takes_the_slower_of_both() -> None:
    """mlp: 200 / 50 against 400 / 500; head: 10 / 50 against 900 / 500; cache: 80 / 80."""
    found = step_time(WORK, DEVICE)
    assert found.memory == pytest.approx(4.0 + 1.0)
    assert found.compute == pytest.approx(1.8)
    assert found.latency == 2 * 2.0 + 3.0
    assert found.network == 0.0
    assert found.seconds == pytest.approx(13.8)
    assert found.bound == "latency"


def test_floors_count_each_byte_and_flop_once_at_the_peaks() -> None:
    found = step_time(WORK, DEVICE)
    assert found.bandwidth_floor == pytest.approx((300 + 80) / 100)
    assert found.compute_floor == pytest.approx((400 + 900 + 100) / 1_000)


def test_experts_and_plain_attention_reach_less() -> None:
    experts = replace(WORK, products=(Product(name="experts", bytes=100, flops=0, experts=True),))
    assert step_time(experts, DEVICE).memory == pytest.approx(100 / 25 + 1.0)
    assert step_time(experts, DEVICE, flash=False).memory == pytest.approx(100 / 25 + 2.0)


def test_a_sum_over_ranks_is_a_latency_and_a_ring() -> None:
    """4 ranks: each sum 0.5 s and 2 · 3 / 4 of 5 bytes at 10 a second."""
    found = step_time(WORK, DEVICE, ranks=4)
    assert found.network == pytest.approx(4 * (0.5 + 1.5 * 5 / 10))


def test_stages_of_one_token_follow_each_other() -> None:
    one = step_time(WORK, DEVICE)
    both = together([one, one])
    assert both.seconds == pytest.approx(2 * one.seconds)
    assert both.bandwidth_floor == pytest.approx(2 * one.bandwidth_floor)


def test_the_first_class_of_devices_that_applies_is_taken() -> None:
    named = replace(HALF, devices=Devices(names=("a40",)), weights=0.1)
    memory = replace(HALF, devices=Devices(memory=("HBM",), vendors=("NVIDIA",)), weights=0.2)
    file = Efficiency(name="f", title="f", source="by hand", classes=(named, memory, HALF))
    assert chosen(file, gpu("a40")).weights == 0.1
    assert chosen(file, gpu("a100-80")).weights == 0.2
    assert chosen(file, gpu("rtx-4090")).weights == 0.5


def test_narrow_operands_are_computed_at_their_own_rate() -> None:
    h100 = gpu("h100")
    assert peak_compute(h100, 16) == pytest.approx(989e12, rel=0.01)
    assert peak_compute(h100, 8) == pytest.approx(1_979e12, rel=0.01)
    assert peak_compute(gpu("a100-80"), 4) == 624e12


def test_devices_beyond_the_fast_link_speak_over_pcie() -> None:
    rate, latency = link(gpu("a100-80"), 8)
    assert (rate, latency) == (300e9, 8e-6)
    slow, slower = link(gpu("rtx-4090"), 2)
    assert slow == pytest.approx(16 * 1.97e9 * 0.8)
    assert slower > latency
