"""The time of a step against hand calculation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmcalc.blueprint import lower
from llmcalc.blueprint.parallel import Parallel
from llmcalc.catalog.find import card, gpu
from llmcalc.engines.steptime import traffic
from llmcalc.engines.steptime.amounts import amounts
from llmcalc.engines.steptime.machine import machine
from llmcalc.engines.steptime.pace import train_step
from llmcalc.engines.steptime.run import Run
from tests.engines.steptime.made import ALONE, EVERY, MACHINE, REACH, WORK


def test_products_and_attention_run_at_the_rates_reached() -> None:
    """6e12 / (1e14 · 0.5) + 1e12 / (1e14 · 0.25) = 0.12 + 0.04 seconds."""
    step = train_step(WORK, ALONE, MACHINE, EVERY, REACH)
    assert step.seconds == pytest.approx(0.16)
    assert step.tokens_per_second_per_gpu == pytest.approx(6250)
    assert step.mfu == pytest.approx(7e12 / (0.16 * 1e14))


def test_elements_logits_and_launches_are_added() -> None:
    """10·1000·1000·30 bytes and 1000·50·4 at 1 TB/s, and 3·10 passes of 1 ms."""
    every = replace(EVERY, element_copies=30.0, logit_copies=4.0, layer_seconds=1e-3)
    step = train_step(replace(WORK, vocab=50), ALONE, MACHINE, every, REACH)
    assert step.seconds == pytest.approx(0.16 + 3e8 / 1e12 + 2e5 / 1e12 + 0.03)


def test_a_pipeline_idles_for_p_less_one_micro_batches() -> None:
    """Four stages, eight micro-batches: idle 3/8 of the busy time, 3/11 of all."""
    run = replace(ALONE, parallel=Parallel(pp=4), micro_batches=8)
    step = train_step(WORK, run, replace(MACHINE, link=1e30), EVERY, REACH)
    assert step.compute == pytest.approx(8 * 0.16 / 4)
    assert step.bubble / step.seconds == pytest.approx(3 / 11)
    chunks = replace(run, vpp=3)
    assert traffic.idle(chunks) == pytest.approx(3 / 24)
    assert traffic.idle(replace(run, schedule="zb-h1")) == pytest.approx(3 / 24)
    assert traffic.idle(replace(run, schedule="zb-h2")) == 0.0


def test_a_pipeline_fed_from_both_ends_idles_less_and_hides_its_exchanges() -> None:
    """DualPipe, 8 stages, 16 micro-batches: (8/2 - 1) * 2 of 3 * 16; 1F1B 7/16.

    Experts exchange for 0.35 s, of which the 0.02 s that a stage computes a micro-batch hide.
    """
    run = replace(ALONE, parallel=Parallel(pp=8), micro_batches=16, schedule="dualpipe")
    assert traffic.idle(run) == pytest.approx(6 / 48)
    assert traffic.idle(replace(run, schedule="1f1b")) == pytest.approx(7 / 16)
    assert traffic.idle(replace(run, parallel=Parallel(pp=2))) == 0.0
    work = replace(WORK, carried=4e9, top_k=20)
    both = replace(run, parallel=Parallel(pp=8, dp=8, ep=8))
    free = replace(MACHINE, link=1e11, network=1e30)
    exchange = train_step(work, both, free, EVERY, REACH).exchange
    carried = 2 * 4e9 * 20 / 8 * (7 / 8) / 1e11 * 2
    assert exchange == pytest.approx(16 * (carried - 0.16 / 8))
    plain = train_step(work, replace(both, schedule="1f1b"), free, EVERY, REACH).exchange
    assert plain == pytest.approx(16 * carried)


def test_tensor_ranks_sum_forward_and_backward() -> None:
    """20 sums of 2·1000·1000 bytes, each scattered and gathered, twice, 3/4 of it over the link."""
    run = replace(ALONE, parallel=Parallel(tp=4))
    found = traffic.tensor_seconds(WORK, run, MACHINE)
    assert found == pytest.approx(2 * 2 * 20 * 2e6 * (3 / 4) / 1e11)
    again = replace(run, layers_again=1.0)
    assert traffic.tensor_seconds(WORK, again, MACHINE) == pytest.approx(1.5 * found)


@pytest.mark.parametrize(
    ("dealt", "per_weight"),
    [("nothing", 4), ("optimizer", 4), ("gradients", 3 * 2 + 2), ("weights", 3 * (2 + 2 + 2))],
)
def test_data_ranks_exchange_what_they_deal_out(dealt: str, per_weight: float) -> None:
    """Bytes of each weight in three micro-batches: ZeRO, arXiv:1910.02054, section 7."""
    run = Run(parallel=Parallel(dp=8), seq=1000, micro_batches=3, dealt=dealt)  # type: ignore[arg-type]
    found = traffic.data_seconds(WORK, run, MACHINE)
    assert found == pytest.approx(per_weight * 1e9 * (7 / 8) / 1e11)


def test_exchanges_hide_behind_computing_as_far_as_they_overlap() -> None:
    """0.035 s of gradients behind half of 0.16 s vanish; behind a tenth, 0.019 s remain."""
    run = replace(ALONE, parallel=Parallel(dp=8), adapters=False)
    hidden = train_step(WORK, run, MACHINE, EVERY, replace(REACH, overlap=0.5))
    assert hidden.gradients == 0.0
    seen = train_step(WORK, run, MACHINE, EVERY, replace(REACH, overlap=0.1))
    assert seen.gradients == pytest.approx(0.035 - 0.016)


def test_frozen_weights_exchange_no_gradients() -> None:
    run = replace(ALONE, parallel=Parallel(dp=8))
    assert traffic.data_seconds(WORK, run, MACHINE) == 0.0


def test_what_is_exchanged_once_a_step_hides_behind_one_micro_batch() -> None:
    """0.035 s of gradients behind a tenth of 0.16 s, however many micro-batches there are."""
    run = replace(ALONE, parallel=Parallel(dp=8), adapters=False, micro_batches=4)
    seen = train_step(WORK, run, MACHINE, EVERY, replace(REACH, overlap=0.1))
    assert seen.gradients == pytest.approx(0.035 - 0.016)
    more = train_step(WORK, replace(run, dealt="weights"), MACHINE, EVERY, REACH)
    assert more.gradients == pytest.approx(4 * 3 * 2e9 * (7 / 8) / 1e11)


def test_replicas_gather_among_few_ranks_and_sum_shares_of_gradients() -> None:
    """HSDP on 32 ranks in groups of 8: 2 GB three times by the link, 0.25 GB summed over 4 nodes.

    An all-reduce of 0.25 GB over 4 nodes of one card each: 2 · 3/4 · 0.25 GB at 10 GB/s.
    """
    run = replace(ALONE, parallel=Parallel(dp=32), adapters=False, dealt="weights", replicate=4)
    found = traffic.data_seconds(WORK, run, MACHINE)
    assert found == pytest.approx(3 * 2e9 * (7 / 8) / 1e11 + 2 * (3 / 4) * 0.25e9 / 1e10)
    flat = traffic.data_seconds(WORK, replace(run, replicate=1), MACHINE)
    assert flat == pytest.approx(3 * 2e9 * (31 / 32) / 8e10)


def test_experts_exchange_what_tokens_carry() -> None:
    """1e6 elements in 16 bits for each of two experts over 8 ranks, forward and backward."""
    run = replace(ALONE, parallel=Parallel(dp=8, ep=8))
    found = traffic.expert_seconds(replace(WORK, carried=1e6, top_k=2), run, MACHINE)
    assert found == pytest.approx(2 * 4e6 * (7 / 8) / 1e11)


def test_a_token_crosses_once_to_each_of_the_nodes_that_its_routing_keeps_to() -> None:
    """64 ranks of 8 nodes, 8 experts: 8 copies, or 4 where 4 groups of 8 are all that it visits."""
    run = replace(ALONE, parallel=Parallel(dp=64, ep=64))
    work = replace(WORK, carried=1e6, top_k=8)
    free = traffic.expert_seconds(work, run, MACHINE)
    assert free == pytest.approx(2 * 8 * 2e6 * (7 / 8) / 1e10)
    bound = replace(work, groups=8, top_groups=4)
    assert traffic.expert_seconds(bound, run, MACHINE) == pytest.approx(free / 2)
    near = replace(MACHINE, network=1e12)
    assert traffic.expert_seconds(bound, run, near) == pytest.approx(2 * 8 * 2e6 * (7 / 8) / 1e11)


def test_experts_are_summed_over_the_ranks_that_hold_the_same() -> None:
    """16 ranks, 8 of experts: 1 GB of the rest over all, 0.5 GB of experts over two of a node each.

    All-reduces of 2 GB at 80 GB/s and 1 GB at 10 GB/s: each of the eight has its own card.
    """
    work = replace(WORK, weights=5_000_000_000, expert_weights=4_000_000_000)
    run = replace(ALONE, parallel=Parallel(dp=16, ep=8), adapters=False)
    found = traffic.data_seconds(work, run, MACHINE)
    assert found == pytest.approx(2 * 2e9 * (15 / 16) / 8e10 + 2 * 1e9 * (1 / 2) / 1e10)


def test_recomputation_adds_a_forward_and_adapters_leave_out_the_gradients_of_weights() -> None:
    """Forward, backward and again: 8 for each weight and token; LoRA 4, recomputed 6."""
    ledger = lower(card("llama2-7b"))
    run = Run(parallel=Parallel(), seq=128)
    whole = amounts(ledger, run)
    again = amounts(ledger, replace(run, layers_again=1.0))
    frozen = amounts(ledger, replace(run, adapters=True))
    both = amounts(ledger, replace(run, adapters=True, layers_again=1.0))
    one = whole.matmul / 3
    assert (again.matmul / one, frozen.matmul / one, both.matmul / one) == (4.0, 2.0, 3.0)
    assert whole.model - frozen.model == one
    assert again.attention / whole.attention == pytest.approx(4.5 / 3.5)
    kept = amounts(ledger, replace(run, attention_again=True))
    assert kept.matmul == whole.matmul
    assert kept.attention == again.attention


def test_a_rank_holds_its_share_of_weights_and_experts() -> None:
    """100 dense and 800 expert weights: TP 2, EP 4 hold 50 + 200; TP 4 alone 25 + 200."""
    work = replace(WORK, weights=900, expert_weights=800)
    both = replace(ALONE, parallel=Parallel(tp=2, ep=4, dp=2))
    assert traffic.held_weights(work, both) == 250
    alone = replace(ALONE, parallel=Parallel(tp=4))
    assert traffic.held_weights(work, alone) == 225


def test_a_gpu_without_fp8_computes_in_16_bits() -> None:
    ampere = gpu("a100-sxm4-80gb")
    assert machine(ampere, REACH, bits=8).compute == 312e12
    hopper = machine(gpu("h100-sxm5-80gb"), REACH, bits=8)
    assert (hopper.compute, hopper.attention) == (1979e12, 989e12)


def test_experts_are_counted_apart() -> None:
    """Two of eight experts: their FLOPs are six for each weight and token of two."""
    work = amounts(lower(card("mixtral-8x7b")), Run(parallel=Parallel(), seq=64))
    assert work.experts == 6 * work.expert_weights * 2 / 8 * 64
    assert work.reductions == 64
    assert (work.top_k, work.carried) == (2, 2 * 4096 * 32 * 64)
