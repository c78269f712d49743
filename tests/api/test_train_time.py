"""The time and cost of a plan: keys agree with each other, and with hand calculation."""

from __future__ import annotations

from itertools import pairwise

import pytest

from llmcalc.api import plans
from llmcalc.api.targets import placed
from llmcalc.api.train_assumptions import assumed
from llmcalc.api.train_time import Asked, TrainTime, train_time
from llmcalc.blueprint import lower
from llmcalc.catalog.find import card, gpu
from llmcalc.errors import ImpossibleError, UsageError

PEAK = 989e12


def _asked(said: Asked | None = None, **plan: object) -> TrainTime:
    return _timed("llama3-8b", "h100-sxm5-80gb", said, **{"gpus": 8, "shard": "fsdp"} | plan)


def _timed(model: str, device: str, said: Asked | None = None, **plan: object) -> TrainTime:
    chosen = plans.plan(plans.Asked(**{"seq": 4096} | plan))  # type: ignore[arg-type]
    ledger = lower(card(model), training=True)
    return train_time(ledger, placed(chosen, card(model), ledger), gpu(device), said or Asked())


def test_a_given_mfu_is_what_comes_out() -> None:
    """8 GPUs · 4,096 tokens: seconds are FLOPs over 8 · 989 TFLOP/s · 40 %."""
    found = _asked(Asked(mfu=0.4))
    assert found.mfu == pytest.approx(0.4)
    assert found.step_seconds == pytest.approx(found.flops_per_step / (8 * PEAK * 0.4))
    assert found.tokens_per_step == 8 * 4096
    rate = 8 * 4096 / found.step_seconds / 8
    assert found.tokens_per_second_per_gpu == pytest.approx(rate)
    assert found.error_p50 is None


def test_a_fitted_step_is_the_sum_of_its_parts_and_says_how_sure_it_is() -> None:
    found = _asked()
    assert sum(found.parts.values()) == pytest.approx(found.step_seconds)
    assert found.published.p10 * 0.7 < found.mfu < found.published.p90 * 1.3
    assert found.error_p50
    assert found.error_p90


def test_flops_of_a_step_are_six_n_and_attention() -> None:
    """Llama-3-8B: 7.505 B weights that multiply, 12 · 32 · 4,096 · 4,096 for each token."""
    found = _asked()
    per_token = 6 * 7_504_658_432 + 12 * 32 * 4096 * 4096
    assert found.flops_per_step == pytest.approx(8 * 4096 * per_token, rel=1e-4)


def test_recomputation_costs_hardware_flops_but_no_model_flops() -> None:
    plain, again = _asked(), _asked(recompute="full")
    assert again.flops_per_step == plain.flops_per_step
    assert again.hardware_flops_per_step > 1.3 * plain.hardware_flops_per_step
    assert again.step_seconds > plain.step_seconds


def test_adapters_need_two_thirds_of_the_products() -> None:
    whole, lora = _asked(), _asked(method="lora", shard="ddp")
    assert lora.flops_per_step < 0.75 * whole.flops_per_step
    assert lora.tokens_per_second_per_gpu > whole.tokens_per_second_per_gpu


def test_a_run_costs_its_hours() -> None:
    """1.5 billion tokens at 3 dollars a GPU-hour."""
    found = _asked(Asked(tokens=1_500_000_000, mfu=0.4, price=3.0))
    assert found.totals
    steps = -(-1_500_000_000 // (8 * 4096))
    hours = 8 * steps * found.step_seconds / found.goodput / 3600
    assert found.totals.gpu_hours == pytest.approx(hours)
    assert found.totals.cost == pytest.approx(3 * hours)
    assert found.totals.energy_kwh == pytest.approx(0.7 * hours)
    assert found.whole_run_gpu_hours
    assert found.whole_run_gpu_hours > found.totals.gpu_hours


def test_samples_and_epochs_make_tokens() -> None:
    """1,000 samples of 4,096, three times, rows half filled."""
    found = _asked(Asked(samples=1000, epochs=3, packing=0.5))
    assert found.totals
    assert found.totals.tokens == 1000 * 3 * 4096 * 2


@pytest.mark.parametrize("said", [Asked(mfu=0.0), Asked(mfu=1.1), Asked(packing=0.0)])
def test_shares_that_are_none_are_refused(said: Asked) -> None:
    with pytest.raises((UsageError, ImpossibleError)):
        _asked(said)


def test_slow_networks_cost_time() -> None:
    fast, slow = _asked(gpus=64), _asked(Asked(network_gb_s=1.0), gpus=64)
    assert slow.parts["gradients"] > fast.parts["gradients"]


GROWING = (8, 64, 512, 4096, 32_768, 98_304)


def test_flat_fsdp_waits_longer_on_more_gpus_and_copies_of_few_ranks_hardly() -> None:
    """The same batch on each GPU, without the optimizer's share, which shrinks."""
    flat = [_asked(gpus=gpus) for gpus in GROWING]
    waits = [one.step_seconds - one.parts["optimizer"] for one in flat]
    assert all(later >= earlier for earlier, later in pairwise(waits))
    copies = [_asked(gpus=gpus, replicate=gpus // 8).step_seconds for gpus in GROWING]
    assert all(later >= earlier for earlier, later in pairwise(copies))
    assert copies[-1] < 1.1 * copies[0]


def _said(gpus: int, gpu_name: str = "h100", **plan: object) -> dict[str, str]:
    chosen = plans.plan(plans.Asked(**{"gpus": gpus, "shard": "fsdp", "seq": 4096} | plan))  # type: ignore[arg-type]
    asked = Asked()
    found = train_time(lower(card("llama3-8b")), chosen, gpu(gpu_name), asked)
    return assumed(chosen, gpu(gpu_name), asked, found)


def test_what_a_step_takes_for_granted_is_said_where_it_bears_on_it() -> None:
    assert _said(8) == {}
    assert _said(16) == {"network": "50 GB/s for each GPU between nodes of 8"}
    assert "each of 32,768 ranks; --replicate" in _said(32_768)["data ranks"]
    assert "data ranks" not in _said(32_768, replicate=4096)
    assert _said(8, offload="all")["host"].startswith("50 GB/s to each GPU; Adam")
    assert "names no slot" in _said(1, "gaudi2", offload="all", shard="ddp")["host"]


@pytest.mark.parametrize("model", ["gemma3-270m", "mistral-7b-v0.1", "llama3-8b"])
def test_no_window_makes_a_run_faster_than_its_device(model: str) -> None:
    """MFU counts what a window leaves: less than 1 at lengths far beyond it."""
    found = _timed(model, "a100-80", seq=32_768, shard="ddp")
    assert found.mfu < 0.7
    assert found.hfu == found.mfu


def test_what_is_computed_again_is_counted_as_the_rest() -> None:
    """A forward more beside the three of a step: four thirds of the FLOPs."""
    found = _asked(recompute="full")
    assert found.hfu / found.mfu == pytest.approx(4 / 3, rel=0.001)


def test_float32_products_take_the_rate_of_float32() -> None:
    """H100: 67 TFLOP/s against 989 in bf16; products are most of a step of long rows."""
    wide, narrow = (_asked(precision=name).parts["compute"] for name in ("fp32", "bf16-mixed"))
    assert 8 < wide / narrow < 989 / 67


@pytest.mark.parametrize(
    ("optimizer", "precision", "each"),
    [
        ("adamw", "bf16-mixed", 2 + 2 + 2 * (4 + 8)),  # gradient, weight; master and moments twice
        ("sgd", "bf16-mixed", 2 + 2 + 2 * 4),
        ("adamw", "pure-bf16", 2 + 2 * (2 + 4)),
        ("adamw-8bit", "bf16-mixed", 2 + 2 + 2 * (4 + 2 * (1 + 4 / 256))),
    ],
)
def test_an_update_reads_and_writes_what_its_optimizer_keeps(
    optimizer: str, precision: str, each: float
) -> None:
    """8,030,261,248 weights over 8 ranks, at 3.35 TB/s."""
    found = _asked(optimizer=optimizer, precision=precision)
    assert found.parts["optimizer"] == pytest.approx(8_030_261_248 / 8 * each / 3.35e12, rel=1e-3)


def test_paged_states_come_up_and_go_down() -> None:
    """8 bytes of each of 6,738,415,616 weights, both ways over PCIe 4.0 x16 at 0.8 of 31.52 GB/s.

    torchtune's single RTX 4090 took 11.7 s for such a step (me0054); all of it is not foretold.
    """
    plain, paged = (
        _timed("llama2-7b", "rtx-4090", optimizer=name, shard="ddp").step_seconds
        for name in ("adamw", "paged-adamw")
    )
    assert paged - plain == pytest.approx(2 * 8 * 6_738_415_616 / (0.8 * 31.52e9), rel=0.01)


def test_a_gpu_of_no_public_run_has_no_band() -> None:
    found = _timed("llama3-8b", "mi300x", Asked(tokens=10**9), shard="ddp")
    assert found.error_p50 is None
    assert found.published is None
    assert found.whole_run_gpu_hours is None
    plan = plans.plan(plans.Asked())
    assert "hopper" in assumed(plan, gpu("mi300x"), Asked(), found)["rates"].lower()


def test_a_checkpoint_of_adapters_is_short() -> None:
    """41,943,040 numbers of rank 16 beside every product, against all 8,030,261,248."""
    whole, lora = _asked(), _asked(method="lora", shard="ddp")
    assert lora.goodput > whole.goodput


def test_adapters_cost_what_they_multiply_and_step() -> None:
    """Rank 512 beside all products of Llama 3 8B: 1,342,177,280 numbers, six FLOPs each a token."""
    small, large = (
        _timed("llama3-8b", "a100-80", method="lora", rank=rank, shard="ddp") for rank in (8, 512)
    )
    more = 1_342_177_280 * (512 - 8) // 512
    assert large.flops_per_step - small.flops_per_step == pytest.approx(6 * more * 4096)
    assert large.parts["optimizer"] == pytest.approx(64 * small.parts["optimizer"])


def test_quantised_weights_are_widened_for_each_pass() -> None:
    """8,030,261,248 weights of 4.127 bits and a bf16 copy, twice, at 2.039 TB/s of an A100."""
    plain, quantised = (
        _timed("llama3-8b", "a100-80", method=how, shard="ddp").parts["compute"]
        for how in ("lora", "qlora")
    )
    assert quantised - plain == pytest.approx(
        2 * 8_030_261_248 * (4.127 / 8 + 2) / 2.039e12, rel=0.01
    )


def test_one_second_of_computing_hides_one_second_of_transfers() -> None:
    """More work never makes a step shorter, whatever hides behind it."""
    seconds = [
        _timed("llama3-8b", "h100", offload="all", micro_batch=n, shard="ddp").step_seconds
        for n in (1, 2, 4, 8)
    ]
    assert seconds == sorted(seconds)
    again = _timed("llama3-8b", "h100", offload="all", recompute="full", shard="ddp").step_seconds
    assert again > seconds[0]
