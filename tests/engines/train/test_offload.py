"""What is kept beside the GPU, against DeepSpeed's own estimates and the papers."""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.api.plans import Asked, lowered, plan
from llmcalc.catalog.find import card
from llmcalc.engines.train.timeline import Line, timelines

GIB = 2**30
T5 = 2_851_598_336


def _line(name: str = "t5-3b", **asked: Any) -> Line:
    chosen = plan(Asked(**({"framework": "deepspeed", "gpus": 8, "shard": "zero3"} | asked)))
    (line,) = timelines(lowered(card(name), chosen.framework), chosen)
    return line


@pytest.mark.parametrize(("offload", "published"), [("all", 71.71), ("optimizer", 63.74)])
def test_the_host_of_eight_gpus_holds_what_deepspeed_estimates(
    offload: str, published: float
) -> None:
    """docs/code-docs/source/memory.rst: T5-3B on one node, zero_init=1, with half as much again."""
    node = 8 * _line(offload=offload).lasting.away.host
    assert 1.5 * node / GIB == pytest.approx(published, abs=0.01)


def test_the_gpu_keeps_its_share_of_weights_alone() -> None:
    """The same page: 0.79 GB a GPU, of which 4 bytes for each of the 32.9M numbers of a table."""
    held = _line(offload="optimizer").lasting
    table = 4 * 32_128 * 1024
    assert (held.weights + table) / GIB == pytest.approx(0.79, abs=0.01)
    assert (held.gradients, held.master_weights, held.optimizer) == (0, 0, 0)
    assert _line(offload="all").lasting.weights == 0


def test_zero_offload_leaves_two_of_sixteen_bytes_a_parameter() -> None:
    """arXiv:2101.06840, table 1: 2M on the GPU; gradients in 16 bits, masters and moments: 14M."""
    held = _line("llama2-7b", framework="generic", gpus=1, shard="ddp", offload="optimizer").lasting
    n = 6_738_415_616
    assert (held.weights, held.away.host) == (2 * n, 14 * n)


def test_nvme_holds_the_states_and_the_host_buffers_of_them() -> None:
    """DeepSpeed's defaults: 4 buffers of a sub-group in float32, 5 of 1e8 weights, 1e9 weights."""
    share = T5 // 8
    held = _line(offload="all", offload_to="nvme").lasting.away
    assert held.buffers == 4 * share * 4 + 5 * 10**8 * 2
    assert held.host == held.buffers + 2 * share  # fewer than 1e9, so that all weights stay
    assert held.nvme == 16 * share
    whole = _line("llama2-70b", gpus=1, offload="all", offload_to="nvme").lasting.away
    assert whole.buffers == 4 * 4 * 10**9 + 5 * 10**8 * 2
    assert whole.host == whole.buffers + 2 * 10**9


def test_gradients_pass_through_buckets_on_their_way_to_the_host() -> None:
    stays, away = _line(), _line(offload="optimizer")
    gone = stays.lasting.gradients + stays.lasting.master_weights + stays.lasting.optimizer
    assert gone == pytest.approx(14 * T5 / 8, rel=1e-6)
    assert away.lasting.stepping == 0
    assert away.peak.total < stays.peak.total
