"""What a step waits for the host, by hand and beside ZeRO-Offload's own table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmcalc.blueprint.parallel import Parallel
from llmcalc.catalog.find import gpu
from llmcalc.engines.device import host_link
from llmcalc.engines.steptime.machine import HOST_GB_S, machine
from llmcalc.engines.steptime.offload import host_adam_seconds, offload_seconds
from llmcalc.engines.steptime.pace import train_step
from tests.engines.steptime.made import ALONE, EVERY, MACHINE, REACH, WORK

HOSTED = replace(MACHINE, host_link=1e10, host=1e11)
FULL = replace(ALONE, adapters=False)


def _seconds(run: object, computing: float = 0.0, overlap: float = 0.0) -> float:
    return offload_seconds(WORK, run, HOSTED, room=computing * overlap)  # type: ignore[arg-type]


def test_gradients_go_down_and_the_host_updates() -> None:
    """1e9 weights: 2 GB down at 10 GB/s, 28 GB of memory at 100 GB/s, 2 GB up meanwhile."""
    run = replace(FULL, states_on_host=True)
    assert _seconds(run) == pytest.approx(0.2 + 0.28)
    assert _seconds(run, computing=1.0, overlap=0.5) == pytest.approx(0.28)


def test_ranks_share_a_host_and_what_is_dealt_out() -> None:
    """Eight ranks with an eighth each: as much work for the host, an eighth of the transfers."""
    run = replace(FULL, states_on_host=True, parallel=Parallel(dp=8), dealt="optimizer")
    assert _seconds(run) == pytest.approx(0.2 / 8 + 0.28)
    copies = replace(run, dealt="nothing")
    assert _seconds(copies) == pytest.approx(0.2 + 8 * 0.28)


def test_weights_come_up_for_every_pass() -> None:
    """2 GB forward and backward for each of three micro-batches, a quarter of it on each of 4."""
    run = replace(FULL, weights_on_host=True, micro_batches=3)
    assert _seconds(run) == pytest.approx(6 * 0.2)
    shared = replace(run, parallel=Parallel(dp=4), dealt="weights")
    assert _seconds(shared) == pytest.approx(6 * 0.2 / 4)
    assert _seconds(shared, computing=1.0, overlap=0.2) == pytest.approx(0.1)


def test_adapters_leave_the_host_little_to_do() -> None:
    assert _seconds(replace(ALONE, states_on_host=True)) == 0.0


def test_a_step_waits_for_the_host_in_place_of_its_own_update() -> None:
    run = replace(FULL, states_on_host=True)
    step = train_step(WORK, run, HOSTED, EVERY, REACH)
    assert step.optimizer == 0.0
    assert step.seconds == pytest.approx(0.16 + 0.2 + 0.28)


@pytest.mark.parametrize(
    ("billions", "seconds"), [(1, 0.22), (2, 0.51), (4, 1.03), (8, 2.41), (10, 2.57)]
)
def test_adam_on_the_host_takes_what_zero_offload_measured(billions: int, seconds: float) -> None:
    """arXiv:2101.06840, table 4, on a DGX-2; the rate is that of 10 billion, others within 20 %."""
    found = host_adam_seconds(
        weights=billions * 1e9, each=28, ranks=1, host=HOST_GB_S * 1e9, up=0.0, rate=1.0
    )
    assert found == pytest.approx(seconds, rel=0.2)


def test_the_host_is_reached_over_pcie_or_a_link_of_its_own() -> None:
    """PCIe 5.0 x16: 16 lanes of 3.94 GB/s, of which copies reach 80 %; Grace: NVLink-C2C."""
    assert host_link(gpu("h100")) == pytest.approx(16 * 3.94e9 * 0.8)
    assert host_link(gpu("gh200")) == 450e9
    assert machine(gpu("gh200"), REACH).host_link == 450e9
