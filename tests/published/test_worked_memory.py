"""Worked examples mfp32 to m11 and the KV caches that papers and the design name."""

from __future__ import annotations

import re

import pytest

from llmcalc.api.fit import FitResult, Question, fits
from llmcalc.api.params import params
from llmcalc.api.setup import setup
from llmcalc.blueprint import lower
from llmcalc.catalog.data import quantization
from llmcalc.catalog.find import card, gpu
from llmcalc.engines import kv, weights
from llmcalc.engines.kv_format import KV_FORMATS, KvFormats

Worked = dict[str, dict[str, str]]
GIB = 2**30
LLAMA2 = {"7B": 6_738_415_616, "13B": 13_015_864_320, "70B": 68_976_648_192}


@pytest.mark.parametrize(
    ("row", "format", "eighths"),
    [("mfp32", "fp32", 32), ("mbf16", "bf16", 16), ("mint8", "int8", 8), ("mint4", "int4", 4)],
)
def test_weights_of_llama2_by_format(worked: Worked, row: str, format: str, eighths: int) -> None:
    """The articles' gigabytes hold for nominal sizes; the exact ones are N · bits / 8."""
    article = [float(n) for n in re.findall(r"[\d.]+", worked[row]["article_value"])]
    for nominal, (size, exact) in zip(article, LLAMA2.items(), strict=True):
        (found,) = params([card(f"llama2-{size.lower()}")]).results
        assert found.bytes[format] == exact * eighths // 8
        assert found.bytes[format] / 1e9 == pytest.approx(nominal, rel=0.02)


@pytest.mark.parametrize(("format", "per_param"), [("fp32", 4), ("bf16", 2), ("fp16", 2)])
def test_stored_weights_without_scales_are_bytes_times_n(format: str, per_param: int) -> None:
    held = weights.by_group(lower(card("llama2-7b")), quantization(format))
    assert sum(held.values()) == per_param * 6_738_415_616


def test_int8_keeps_embeddings_head_and_norms_and_adds_scales() -> None:
    held = weights.by_group(lower(card("llama2-13b")), quantization("int8"))
    linear = 40 * (4 * 5_120**2 + 3 * 5_120 * 13_824)
    rows = 40 * (4 * 5_120 + 2 * 13_824 + 5_120)
    kept = 2 * 32_000 * 5_120 + 81 * 5_120
    assert sum(held.values()) == linear + 4 * rows + 2 * kept == 13_352_478_720


def _kv(name: str, tokens: int, dtype: str = "bf16") -> int:
    return kv.profile(lower(card(name)), _alike(dtype)).sequence(tokens)


def _alike(dtype: str) -> KvFormats:
    return KvFormats(keys=KV_FORMATS[dtype], values=KV_FORMATS[dtype])


@pytest.mark.parametrize(("row", "name"), [("m05", "llama2-7b"), ("m06", "llama2-13b")])
def test_m05_m06_kv_bytes_a_token(worked: Worked, row: str, name: str) -> None:
    expected = int(worked[row]["value"])
    assert kv.profile(lower(card(name)), _alike("fp16")).bytes_per_token == expected
    assert _kv(name, 1, "fp16") == expected


def test_m07_llama2_7b_16_sequences_are_32_gib_not_gb(worked: Worked) -> None:
    assert worked["m07"]["value"] == "34359738368 B = 32 GiB"
    assert 16 * _kv("llama2-7b", 4_096) == 34_359_738_368 == 32 * GIB


def test_m08_llama2_13b_8_sequences_are_25_gib(worked: Worked) -> None:
    assert worked["m08"]["value"].startswith("26843545600 B = 25 GiB")
    assert 8 * _kv("llama2-13b", 4_096) == 26_843_545_600 == 25 * GIB


@pytest.mark.parametrize(
    ("name", "tokens", "expected"),
    [
        ("llama2-70b", 4_096, 1_342_177_280),  # 2 · 80 layers · 8 heads · 128 · 2 B: 1.25 GiB
        ("deepseek-v3", 1, 70_272),  # 61 layers · (512 + 64) · 2 B
        ("deepseek-v3", 4_096, 70_272 * 4_096),
        # 24 layers, half of them with a window of 128; 2 · 8 heads · 64 · 2 B = 2,048 B a layer
        ("gpt-oss-20b", 100, 24 * 2_048 * 100),
        ("gpt-oss-20b", 8_192, 12 * 2_048 * (128 + 8_192)),
        ("gpt-oss-20b", 131_072, 12 * 2_048 * (128 + 131_072)),
        ("gpt-oss-120b", 8_192, 18 * 2_048 * (128 + 8_192)),
        # 62 layers, 52 with a window of 1,024; 2 · 16 heads · 128 · 2 B = 8,192 B a layer
        ("gemma3-27b-text", 1_000, 62 * 8_192 * 1_000),
        ("gemma3-27b-text", 8_192, 8_192 * (52 * 1_024 + 10 * 8_192)),
        ("gemma3-27b-text", 131_072, 8_192 * (52 * 1_024 + 10 * 131_072)),
    ],
)
def test_kv_cache_of_one_sequence(name: str, tokens: int, expected: int) -> None:
    assert _kv(name, tokens) == expected


def test_deepseek_v3_caches_half_in_fp8() -> None:
    assert kv.profile(lower(card("deepseek-v3")), _alike("fp8")).bytes_per_token == 35_136


def _fit(batch: int, weights: str = "fp16") -> FitResult:
    question = Question(gpu=gpu("a100-80"), batch=batch, seq=4_096, setup=setup(weights=weights))
    (found,) = fits([card("llama2-13b")], question).results
    assert isinstance(found, FitResult)
    return found


def _parts(found: FitResult, group: str) -> int:
    return sum(part.bytes for part in found.parts if part.group == group)


def test_m09_batch_8_fits_an_a100_80(worked: Worked) -> None:
    assert worked["m09"]["value"].startswith("26031728640 + 26843545600 B")
    found = _fit(8)
    assert found.verdict == "fits"
    assert (_parts(found, "weights"), _parts(found, "kv_cache")) == (26_031_728_640, 26_843_545_600)
    # "about 51.2 GiB with 2 GiB overhead"
    assert 49.2 < found.needed / GIB < 51.2


def test_m10_batch_16_is_tight_and_its_parts_add_up(worked: Worked) -> None:
    assert worked["m10"]["verdict"] == "verdict: tight"
    found = _fit(16)
    assert (found.verdict, found.limit) == ("tight", "kv_cache")
    assert (_parts(found, "weights"), _parts(found, "kv_cache")) == (26_031_728_640, 53_687_091_200)
    assert sum(part.bytes for part in found.parts) == found.needed
    assert found.free == found.capacity - found.needed
    assert 74.24 < found.needed / GIB < 76.24
    names = {part.name for part in found.parts}
    assert {"attention", "mlp", "KV cache", "logits", "driver context"} <= names
    # 79.26 GiB − 24.24 of weights − 0.7 to 1 of overhead hold 17 sequences of 3.125 GiB, not 18.
    assert (found.max_batch, found.max_context) == (17, 4_096)


def test_m11_the_advice_lists_int8_weights_with_its_total(worked: Worked) -> None:
    assert worked["m11"]["note"] == "advice that fit must give"
    before = _fit(16)
    (advice,) = [one for one in before.advice if one.options == "--weights int8"]
    saved = 26_031_728_640 - 13_352_478_720
    assert (advice.needed, advice.verdict) == (before.needed - saved, "fits")
    assert advice.needed == _fit(16, "int8").needed
    # The article's 66.2 GB are weights and cache alone, at a nominal 13 B.
    assert advice.needed / 1e9 == pytest.approx(66.2, rel=0.03)


def test_every_advice_gives_the_total_that_asking_for_it_gives() -> None:
    before = _fit(16)
    by_options = {one.options: one.needed for one in before.advice}
    assert by_options["--batch 14"] == _fit(14).needed
    assert by_options["--weights int4"] == _fit(16, "int4").needed
    assert all(one.needed < before.needed for one in before.advice)
