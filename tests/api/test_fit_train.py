"""`fit --train`: its totals are those of `train`, its bounds are bounds, its catalog is ranked."""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.api.fit_train import TrainFitResult, fit_catalog_training, fits_training
from llmcalc.api.plans import Asked, plan
from llmcalc.api.selection import Filter
from llmcalc.api.train import TrainResult, train
from llmcalc.api.trained import Trained
from llmcalc.catalog.find import card, gpu
from llmcalc.engines.capacity import capacity


def _fit(model: str, device: str, **asked: Any) -> TrainFitResult:
    (found,) = fits_training([card(model)], Asked(**asked), gpu(device)).results
    assert isinstance(found, TrainFitResult)
    return found


@pytest.mark.parametrize(
    "asked",
    [{}, {"method": "qlora", "seq": 4096}, {"gpus": 8, "shard": "fsdp"}, {"micro_batch": 4}],
)
def test_totals_are_those_of_train(asked: dict[str, Any]) -> None:
    found = _fit("llama3-8b", "a100-80", **asked)
    (same,) = train(card("llama3-8b"), plan(Asked(**asked)), gpu=gpu("a100-80")).results
    assert isinstance(same, TrainResult)
    assert (found.needed, found.verdict, found.trainable) == (
        same.per_gpu.peak, same.verdict, same.trainable,
    )  # fmt: skip
    assert sum(found.parts.values()) == found.needed == found.capacity - found.free


def test_published_runs_fit_where_they_ran() -> None:
    """Worked examples t05, t06 and t08: LoRA on 24 GB, full on 80 GB never, ZeRO on 8 × 40 GB."""
    assert _fit("llama2-7b", "4090", method="lora", recompute="full").verdict == "fits"
    assert _fit("llama2-7b", "a100-80").verdict == "no"
    assert _fit("llama2-7b", "a100-40", gpus=8, shard="fsdp", recompute="full").verdict == "fits"


@pytest.mark.parametrize(("model", "device"), [("llama3-8b", "4090"), ("gemma3-270m", "t4")])
def test_batch_and_context_are_the_most_that_memory_holds(model: str, device: str) -> None:
    asked = Asked(method="lora", seq=512)
    placed = Trained(card(model), asked, capacity(gpu(device)).bytes)

    def verdict(**more: int) -> str:
        said = {"method": "lora", "seq": 512} | more
        return _fit(model, device, **said).verdict

    batch, context = placed.max_batch, placed.max_context
    assert verdict(micro_batch=batch) != "no" == verdict(micro_batch=batch + 1)
    assert verdict(seq=context) != "no" == verdict(seq=context + 1)


def test_what_fits_needs_no_advice() -> None:
    assert _fit("gemma3-270m", "h100").advice == ()


def test_a_sequence_beyond_the_context_does_not_fit() -> None:
    found = _fit("llama2-7b", "h200", method="lora", seq=8192)
    assert (found.verdict, found.limit) == ("no", "context")
    assert found.advice[0].options.startswith("--method lora -s 4096")


def test_offloading_counts_the_memory_of_the_hosts() -> None:
    """Of N numbers in bf16-mixed: 2 N of weights, 2 N of gradients, 12 N of masters and moments."""
    found = _fit("llama2-7b", "h100", recompute="full", offload="all")
    assert found.host == 16 * 6_738_415_616
    dealt = _fit("llama2-7b", "h100", recompute="full", offload="all", gpus=8, shard="zero3")
    assert dealt.host == pytest.approx(found.host, rel=1e-6)
    copies = _fit("llama2-7b", "h100", recompute="full", offload="all", gpus=8)
    assert copies.host == 8 * found.host


def test_the_catalog_is_ranked_and_the_first_screen_counts_the_rest() -> None:
    report = fit_catalog_training(
        Filter(family="llama"), Asked(method="qlora", recompute="full"), gpu("4090")
    )
    order = [("fits", "tight", "no").index(one.verdict) for one in report.results]
    assert order == sorted(order)
    sizes = [one.params for one in report.results if one.verdict == "fits"]
    assert sizes == sorted(sizes, reverse=True)
    # QLoRA of 70 billion in four bits takes 35 GB and more, of 8 billion some 6.
    fitting = {one.model for one in report.results if one.verdict == "fits"}
    assert "llama3-8b" in fitting
    assert "llama3-70b" not in fitting
    assert "--all lists them" in report.tables[0].note
