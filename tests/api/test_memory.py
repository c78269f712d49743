"""`memory`: groups, splits, and the room of a GPU or of a cache budget."""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.api.memory import memory
from llmcalc.api.memory_result import MemoryResult, Room
from llmcalc.api.setup import setup
from llmcalc.blueprint.shard import Parallel
from llmcalc.catalog.find import card, gpu
from llmcalc.errors import ImpossibleError, UsageError
from llmcalc.spec.settings import Settings

GIB = 2**30


def _result(name: str, asked: dict[str, Any] | None = None, **more: Any) -> MemoryResult:
    (found,) = memory(card(name), setup(**(asked or {})), **more).results
    assert isinstance(found, MemoryResult)
    return found


def test_groups_sum_to_the_total_and_parts_to_their_groups() -> None:
    found = _result("llama2-13b", batch=16)
    groups = found.per_gpu
    assert groups.weights == 26_031_728_640
    assert groups.kv_cache == 53_687_091_200
    summed = groups.weights + groups.kv_cache + groups.state + groups.activations + groups.runtime
    assert groups.total == summed == sum(part.bytes for part in found.parts)
    assert found.capacity is found.budget is found.max_batch is found.kv_tokens is None


def test_eight_ranks_hold_an_eighth_of_heads_and_cache() -> None:
    """Llama-2-70B: 8 KV heads, so one on each of 8 ranks: 80 · 2 · 128 · 2 B a token."""
    found = _result("llama2-70b", {"tp": 8}, batch=2)
    assert found.gpus == 8
    assert found.kv_bytes_per_token == 40_960
    assert found.per_gpu.kv_cache == 2 * 4_096 * 40_960
    norms = 161 * 8_192
    assert found.per_gpu.weights == 2 * ((68_976_648_192 - norms) // 8 + norms)


def test_the_latent_of_deepseek_is_whole_on_each_rank() -> None:
    assert _result("deepseek-v3", {"tp": 8}).kv_bytes_per_token == 70_272


def test_replicas_share_the_batch() -> None:
    found = _result("llama2-7b", {"dp": 3}, batch=7)
    assert found.per_gpu.kv_cache == 3 * 4_096 * 524_288
    assert found.assumptions["batch"] == 7


def test_replicas_multiply_what_a_cache_budget_holds() -> None:
    room = Room(kv_budget=4 * GIB)
    one, three = (_result("llama2-7b", {"dp": dp}, room=room) for dp in (1, 3))
    assert (one.kv_tokens, three.kv_tokens) == (8_192, 3 * 8_192)
    assert (three.max_batch, three.max_concurrency) == (3 * 2, 3 * 2.0)
    assert three.max_context == one.max_context


def test_a_cache_budget_alone_holds_so_many_tokens() -> None:
    settings = Settings(max_model_len=2_048)
    found = _result("llama2-7b", {"settings": settings}, room=Room(kv_budget=4 * GIB))
    assert found.kv_tokens == 4 * GIB // 524_288 == 8_192
    assert (found.max_concurrency, found.max_model_len) == (4.0, 2_048)
    assert (found.budget, found.capacity, found.gpu) == (4 * GIB, None, None)
    assert (found.max_batch, found.max_context) == (2, 4_096)
    assert found.free == 4 * GIB - 4_096 * 524_288


def test_concurrency_is_counted_in_sequences_of_the_model_s_own_limit() -> None:
    found = _result("llama2-7b", seq=1_000, room=Room(kv_budget=4 * GIB))
    assert (found.max_model_len, found.max_concurrency) == (4_096, 2.0)
    assert found.max_batch == 4 * GIB // (1_000 * 524_288)


def test_the_room_of_a_gpu_is_its_capacity_times_the_utilisation() -> None:
    half = {"settings": Settings(gpu_memory_utilization=0.5)}
    found = _result("llama2-7b", half, room=Room(gpu=gpu("a100-80")))
    assert found.capacity == int(79.26 * GIB)
    assert found.budget == int(0.5 * int(79.26 * GIB))
    assert found.free == found.budget - found.per_gpu.total
    whole = _result("llama2-7b", room=Room(gpu=gpu("a100-80")))
    assert whole.budget == whole.capacity


def test_windows_stop_the_cache_of_a_sequence() -> None:
    """gpt-oss-20b holds 131,072 tokens in 12 layers and 128 in 12: 2,048 B a layer and token."""
    found = _result("gpt-oss-20b", room=Room(kv_budget=12 * 2_048 * 131_200))
    assert found.max_concurrency == 1.0
    assert found.kv_tokens == 131_072


@pytest.mark.parametrize(
    ("asked", "parallel", "gpus"),
    [
        ({}, None, 1),
        ({"gpus": 4}, None, 4),
        ({"gpus": 8, "tp": 2}, Parallel(tp=2, dp=4), 8),
        ({"tp": 2, "pp": 3}, Parallel(tp=2, pp=3), 6),
        ({"gpus": 4, "ep": 4}, Parallel(tp=4, ep=4), 4),
        ({"ep": 2}, Parallel(tp=2, ep=2), 2),
        ({"gpus": 6, "tp": 2, "dp": 3}, Parallel(tp=2, dp=3), 6),
    ],
)
def test_what_the_options_say_of_the_split(
    asked: Any, parallel: Parallel | None, gpus: int
) -> None:
    found = setup(**asked)
    assert (found.parallel, found.gpus) == (parallel, gpus)


@pytest.mark.parametrize(
    "asked", [{"gpus": 6, "tp": 4}, {"gpus": 8, "tp": 2, "dp": 2}, {"tp": 0}, {"gpus": 0}]
)
def test_a_split_that_contradicts_the_devices_is_refused(asked: Any) -> None:
    with pytest.raises(ImpossibleError):
        setup(**asked)


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(UsageError, match="no cache format"):
        setup(kv="fp7")
    with pytest.raises(UsageError):
        setup(weights="fp7")


@pytest.mark.parametrize("more", [{"batch": 0}, {"seq": 0}, {"seq": 4_097}])
def test_impossible_sizes_are_refused(more: Any) -> None:
    with pytest.raises(ImpossibleError):
        _result("llama2-7b", **more)


@pytest.mark.parametrize(
    "wrong",
    [{"max_model_len": 0}, {"max_model_len": 4_097}, {"gpu_memory_utilization": 0.0},
     {"gpu_memory_utilization": 1.1}, {"max_num_batched_tokens": -1}],
)  # fmt: skip
def test_impossible_settings_are_refused(wrong: Any) -> None:
    with pytest.raises(ImpossibleError):
        _result("llama2-7b", {"settings": Settings(**wrong)})


def test_a_setting_of_another_runtime_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="generic has no --mem-fraction-static"):
        _result("llama2-7b", {"settings": Settings(mem_fraction_static=0.8)})


def test_a_state_does_not_grow_so_nothing_ends_the_context() -> None:
    """Mamba 2.8B: 64 layers of a 16-wide state and 3 kept inputs on 5,120 channels, 2 B each."""
    found = _result("mamba-2.8b", room=Room(gpu=gpu("h100-sxm")))
    assert found.state_bytes_per_sequence == 64 * 5_120 * (16 + 3) * 2
    assert (found.kv_bytes_per_token, found.kv_tokens, found.max_context) == (0, None, None)
    assert found.max_concurrency is not None
    assert "other weights" not in {part.name for part in found.parts}


def test_weights_that_vllm_moves_to_the_host_leave_the_gpu() -> None:
    """5 GiB of each of two ranks, so 10 GiB on the host; never more than its layers."""
    plain = {"engine": "vllm", "tp": 2}
    moved = plain | {"settings": Settings(cpu_offload_gb=5)}
    room = Room(gpu=gpu("h100"))
    whole, less = (_result("llama2-70b", asked, room=room) for asked in (plain, moved))
    assert whole.per_gpu.weights - less.per_gpu.weights == 5 * GIB
    assert (whole.host, less.host) == (0, 10 * GIB)
    assert (less.kv_room or 0) - (whole.kv_room or 0) == 5 * GIB
    all_of_it = plain | {"settings": Settings(cpu_offload_gb=500)}
    assert _result("llama2-70b", all_of_it, room=room).per_gpu.weights == 2 * 32_000 * 8_192


def test_llama_cpp_keeps_the_embedding_and_the_first_layers_on_the_host() -> None:
    """Llama-3-8B in f16: 1,050,673,152 B of embedding, a 32nd of the layers each."""
    layer = (8_030_261_248 - 2 * 128_256 * 4_096 - 4_096) // 32
    norms, room = 2 * 4_096, Room(gpu=gpu("rtx-3090"))
    asked = {"engine": "llama.cpp", "weights": "fp16", "kv": "fp16"}
    for layers in (0, 10, 32):
        settings = {"settings": Settings(n_gpu_layers=layers)}
        found = _result("llama3-8b", asked | settings, room=room, seq=1_024)
        cache = 1_024 * 131_072 // 32
        assert found.per_gpu.weights == layers * (2 * layer + 2 * norms)
        assert found.per_gpu.kv_cache == layers * cache
        rest = 2 * (8_030_261_248 - layers * layer) + 4_096 * 2
        assert found.host == rest + (32 - layers) * (2 * norms + cache)
    full = _result("llama3-8b", asked, room=room)
    assert full.host == 1_050_673_152
