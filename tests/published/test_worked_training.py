"""Worked examples t01, t04, t06 and t09: static training memory of Llama-2-7B."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmcalc.api.train import TrainResult, train
from llmcalc.catalog.data import recipe
from llmcalc.catalog.find import card, gpu
from llmcalc.engines.training import static_memory

Worked = dict[str, dict[str, str]]
N = 6_738_415_616


def _static(precision: str, shard: str = "ddp", gpus: int = 1) -> TrainResult:
    report = train(card("llama2-7b"), recipe(precision), gpus=gpus, shard=shard)  # type: ignore[arg-type]
    (found,) = report.results
    assert isinstance(found, TrainResult)
    return found


def test_t01_half_precision_gradients_make_16_bytes_a_parameter(worked: Worked) -> None:
    found = _static("bf16-mixed")
    assert f"{found.per_gpu.static} B" == worked["t01"]["value"] == "107814649856 B"
    assert found.bytes_per_parameter == 16


@pytest.mark.parametrize(
    ("precision", "per_param"),
    [("megatron", 18), ("bf16-mixed", 16), ("fp32", 16), ("pure-bf16", 8)],
)
def test_t01_bytes_a_parameter_by_recipe(worked: Worked, precision: str, per_param: int) -> None:
    assert worked["t01"]["note"] == "18 B/param with fp32 main gradients; 8 pure bf16"
    found = _static(precision)
    assert found.per_gpu.static == per_param * N
    assert found.bytes_per_parameter == per_param


def test_zero_2_on_four_gpus_holds_whole_weights_and_a_quarter_of_the_rest() -> None:
    found = _static("bf16-mixed", "zero2", gpus=4).per_gpu
    assert found.static == 2 * N + (2 + 4 + 8) * N // 4
    assert _static("bf16-mixed", "fsdp", gpus=4).per_gpu.static == 16 * N // 4


def test_t04_adam_is_8n_of_moments_and_4n_of_master_weights(worked: Worked) -> None:
    assert worked["t04"]["value"] == "8N fp32 moments + 4N master"
    held = _static("bf16-mixed").per_gpu
    assert (held.optimizer, held.master_weights) == (8 * N, 4 * N)
    # The articles' 28 GB are bf16 moments.
    assert _static("pure-bf16").per_gpu.optimizer == 4 * N


def test_t06_mixed_precision_does_not_fit_80_gb_and_pure_bf16_may(worked: Worked) -> None:
    assert "does not fit 80 GB" in worked["t06"]["value"]
    for precision, verdict in (("bf16-mixed", "no"), ("megatron", "no"), ("pure-bf16", "fits")):
        (found,) = train(card("llama2-7b"), recipe(precision), gpu=gpu("a100-80")).results
        assert found.verdict == verdict


def test_t09_eight_bit_adam_saves_three_quarters_of_the_states(worked: Worked) -> None:
    assert worked["t09"]["value"] == "2N instead of 8N"
    eight_bit = replace(recipe("bf16-mixed"), optimizer=2)
    assert static_memory(N, eight_bit, "ddp", 1).optimizer == 2 * N


def test_zero_deals_out_what_the_paper_says_for_7_5_b_on_64_gpus() -> None:
    """Figure 1 of ZeRO (arXiv:1910.02054): 120, 31.4, 16.6 and 1.9 GB."""
    mixed, params = recipe("bf16-mixed"), 7_500_000_000
    found = {
        shard: static_memory(params, mixed, shard, 64).total / 1e9  # type: ignore[arg-type]
        for shard in ("ddp", "zero1", "zero2", "zero3", "fsdp")
    }
    assert found["ddp"] == pytest.approx(120)
    assert found["zero1"] == pytest.approx(31.4, abs=0.05)
    assert found["zero2"] == pytest.approx(16.6, abs=0.05)
    assert found["zero3"] == found["fsdp"] == pytest.approx(1.9, abs=0.05)
