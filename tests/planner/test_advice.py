"""Advice: each change, asked for itself, needs what the advice says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.data import quantization, runtime
from llmcalc.catalog.find import card, gpu
from llmcalc.engines.capacity import capacity
from llmcalc.engines.kv_format import BF16, KV_FORMATS, KvFormats
from llmcalc.planner.advice import Advice, advise
from llmcalc.planner.fit import COMFORT, Ask, Planner

ASK = Ask(
    batch=16, seq=4_096, capacity=capacity(gpu("a100-80")).bytes, gpus=1,
    weights=quantization("bf16"), kv=BF16, runtime=runtime("generic"),
)  # fmt: skip
FORMATS = tuple(quantization(name) for name in runtime("generic").weight_formats)


def _advice(name: str, ask: Ask) -> tuple[Planner, tuple[Advice, ...]]:
    model = card(name)
    planner = Planner(lower(model), model.max_position_embeddings)
    return planner, advise(planner, ask, planner.fit(ask), FORMATS)


def _followed(planner: Planner, ask: Ask, options: str) -> int:
    """What the options of an advice need when they are typed."""
    words = options.split()
    for name, value in zip(words[::2], words[1::2], strict=True):
        if name == "--weights":
            ask = replace(ask, weights=quantization(value))
        elif name == "--kv":
            ask = replace(ask, kv=KvFormats(keys=KV_FORMATS[value], values=KV_FORMATS[value]))
        else:
            ask = replace(ask, **{name.removeprefix("--"): int(value)})
    return planner.fit(ask).needed


@pytest.mark.parametrize(
    ("name", "batch"), [("llama2-13b", 16), ("llama2-13b", 40), ("llama2-70b", 1), ("mixtral", 64)]
)
def test_each_advice_followed_needs_what_it_says(name: str, batch: int) -> None:
    ask = replace(ASK, batch=batch)
    planner, found = _advice(name, ask)
    assert found
    for one in found:
        if one.options:
            assert _followed(planner, ask, one.options) == one.needed
        assert one.needed <= ask.capacity
        assert one.verdict == ("fits" if one.needed <= COMFORT * ask.capacity else "tight")


def test_a_model_that_fits_needs_no_advice() -> None:
    assert _advice("llama2-7b", replace(ASK, batch=1))[1] == ()


def test_a_tight_model_is_advised_only_what_makes_it_fit() -> None:
    _, found = _advice("llama2-13b", ASK)
    assert {one.verdict for one in found} == {"fits"}
    assert [one.options for one in found] == [
        "--weights fp8", "--weights int8", "--weights int4", "--kv fp8", "--seq 3584",
        "--batch 14", "--gpus 2", "",
    ]  # fmt: skip


def test_a_change_that_leaves_a_tight_model_tight_is_no_advice() -> None:
    """77.4 GiB of Llama-2-7B less 6.03 by int8 are 71.37, a little over 0.9 of 79.26."""
    ask = replace(ASK, batch=32)
    planner, found = _advice("llama2-7b", ask)
    assert planner.fit(replace(ask, weights=quantization("int8"))).verdict == "tight"
    options = [one.options for one in found]
    assert "--weights int4" in options
    assert "--weights int8" not in options


def test_offloading_moves_the_fewest_whole_layers() -> None:
    """A layer of Llama-2-13B is 634,408,960 B, its share of the norms included."""
    planner, found = _advice("llama2-13b", ASK)
    (offload,) = [one for one in found if "host memory" in one.change]
    layer = (26_031_728_640 - 2 * 327_680_000) // 40
    moved = int(offload.change.split()[2])
    needed = planner.fit(ASK).needed
    assert offload.needed == needed - moved * layer
    assert offload.needed <= COMFORT * ASK.capacity < needed - (moved - 1) * layer


def test_weights_and_cache_are_both_quantised_where_neither_is_enough() -> None:
    _, found = _advice("llama2-13b", replace(ASK, batch=30))
    options = [one.options for one in found]
    # 30 · 3.125 GiB of cache, half of it in fp8: tight with bf16 weights, at ease with int8
    assert {"--weights int8 --kv fp8", "--weights int4 --kv fp8"} <= set(options)
    _, found = _advice("llama2-13b", replace(ASK, batch=26))
    assert "--weights int4 --kv fp8" not in [one.options for one in found]


def test_a_shorter_context_than_the_model_has_is_offered() -> None:
    _, found = _advice("llama2-7b", replace(ASK, batch=1, seq=8_192))
    assert found[0].options == "--seq 4096"
    assert found[0].verdict == "fits"


def test_more_gpus_are_offered_in_doublings_until_it_fits() -> None:
    _, found = _advice("llama2-70b", replace(ASK, batch=1))
    assert "--gpus 2" in [one.options for one in found]
    _, found = _advice("llama3.1-405b", replace(ASK, batch=1))
    (wider,) = [one for one in found if one.options.startswith("--gpus")]
    # 812 GB of weights are 756 GiB: 16 devices hold 47.3 GiB each, 8 would hold 94.5.
    assert wider.options == "--gpus 16"
