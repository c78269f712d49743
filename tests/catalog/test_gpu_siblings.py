"""Specs of GPUs that the open data lacks say what their makers publish."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from llmcalc.catalog import find

DATA = Path(__file__).parents[1] / "data" / "gpus"
TEXT = (DATA / "siblings.tsv").read_text(encoding="utf-8")
SIBLINGS = {row["slug"]: row for row in csv.DictReader(TEXT.splitlines(), delimiter="\t")}

BANDWIDTH = {
    "rtx-3070": 448, "rtx-3080-ti": 912, "rtx-4060": 272, "rtx-4070": 504, "rtx-4080-super": 736,
    "rtx-5070": 672, "rtx-5090-laptop": 896, "rtx-2060-12gb": 336, "titan-rtx": 672,
    "gtx-1080-ti": 484, "quadro-rtx-8000": 672, "rtx-a400": 96, "rtx-a4500": 640,
    "rtx-a5500": 768, "rtx-2000-ada": 256, "rtx-4500-ada": 432,
    "rtx-pro-4000-blackwell": 672, "rtx-pro-4500-blackwell": 896, "rtx-pro-5000-blackwell": 1344,
    "rtx-pro-6000-blackwell-max-q": 1792, "p40": 346, "a2": 200, "v100s-pcie-32gb": 1134,
    "a800-sxm4-80gb": 2039, "jetson-agx-orin-32gb": 204.8, "jetson-orin-nano-super": 102,
    "rx-6800-xt": 512, "rx-7900-xt": 800, "rx-7800-xt": 624, "rx-9070-xt": 640, "rx-7600": 288,
    "radeon-ai-pro-r9700": 640, "radeon-pro-w7700": 576, "mi50": 1024, "mi100": 1228.8,
    "arc-a750": 512, "arc-b570": 380, "arc-pro-b50": 224, "apple-m3-max-30c": 300,
    "apple-m4-max-32c": 410, "radeon-890m": 128,
}  # fmt: skip
"""GB/s of the makers' own product pages and data sheets."""

FP16 = {
    "a2": 18.1, "rtx-a1000": 53.9 / 2, "rtx-5880-ada": 277, "titan-rtx": 130.5,
    "quadro-rtx-8000": 130.5, "v100s-pcie-32gb": 130, "a800-sxm4-80gb": 312,
    "radeon-ai-pro-r9700": 191, "rx-9070-xt": 195, "rx-7900-xt": 103, "mi100": 184.6,
    "arc-pro-b50": 170 / 2, "jetson-agx-orin-32gb": 108 / 4, "mi50": 26.5,
}  # fmt: skip
"""Dense TFLOP/s at FP16 of the makers' data sheets, halved where these are sparse or INT8."""

INT8 = {"p40": 47, "p4": 22, "a2": 36, "jetson-orin-nx-16gb": 60 / 2, "rx-9070-xt": 389}
"""Dense TOP/s of the makers' data sheets."""

NAMES = {
    "3070": "rtx-3070", "rtx3080ti": "rtx-3080-ti", "4060": "rtx-4060", "1080ti": "gtx-1080-ti",
    "4080-super": "rtx-4080-super", "rtx-4090-laptop": "rtx-4090-laptop", "a5500": "rtx-a5500",
    "p40": "p40", "tesla-p40": "p40", "a800": "a800-sxm4-80gb",
    "rtx-pro-5000": "rtx-pro-5000-blackwell",
    "7800xt": "rx-7800-xt", "rx6800xt": "rx-6800-xt", "9070xt": "rx-9070-xt", "mi50": "mi50",
    "r9700": "radeon-ai-pro-r9700", "w7700": "radeon-pro-w7700", "a750": "arc-a750",
    "780m": "radeon-780m",
    "b50": "arc-pro-b50", "orin-nano": "jetson-orin-nano-8gb", "m4-max-32c": "apple-m4-max-32c",
}  # fmt: skip


def test_every_row_has_its_spec() -> None:
    """The table and the YAML files name the same devices."""
    assert set(SIBLINGS) <= {gpu.name for gpu in find.gpus()}
    assert len(SIBLINGS) > 180


@pytest.mark.parametrize("name", BANDWIDTH)
def test_bandwidth_is_what_the_maker_publishes(name: str) -> None:
    """Within 1 %: pages of makers round."""
    assert find.gpu(name).memory.bandwidth_gb_s == pytest.approx(BANDWIDTH[name], rel=0.01)


@pytest.mark.parametrize("name", FP16)
def test_matrix_rate_at_16_bits_is_what_the_maker_publishes(name: str) -> None:
    """Within 2 %: data sheets and TechPowerUp round the clock differently."""
    assert find.gpu(name).compute.fp16 == pytest.approx(FP16[name], rel=0.02)


@pytest.mark.parametrize("name", INT8)
def test_matrix_rate_at_8_bits_is_what_the_maker_publishes(name: str) -> None:
    """Within 4 %: data sheets round to whole numbers."""
    assert find.gpu(name).compute.int8 == pytest.approx(INT8[name], rel=0.04)


@pytest.mark.parametrize(("typed", "meant"), NAMES.items())
def test_spelling_that_people_type_names_the_right_sibling(typed: str, meant: str) -> None:
    """Short names belong to the spec that people mean by them."""
    assert find.gpu(typed).name == meant


def test_a_name_that_two_cards_bear_is_no_alias() -> None:
    """`RTX 6000` is a Quadro of 2018 and an Ada card of 2022: neither may claim it."""
    taken = {alias for gpu in find.gpus() for alias in gpu.aliases}
    assert not {"rtx-6000", "rtx6000", "rtx-4000", "rtx-5000", "a40-6gb"} & taken
    assert find.gpu("a40").name == "a40"


def test_bins_of_one_chip_differ_where_apple_says_so() -> None:
    """A bin has the cores' share of the rate, and another bandwidth only where published."""
    full, bin7 = find.gpu("apple-m1"), find.gpu("apple-m1-7c")
    assert bin7.memory.bandwidth_gb_s == full.memory.bandwidth_gb_s
    assert bin7.compute.fp32 == pytest.approx(2.6 * 7 / 8, rel=0.005)


def test_export_cards_claim_no_rate_that_their_units_would_have() -> None:
    """An L20 does half of what its multiprocessors could; the page does not say, so nor do we."""
    assert find.gpu("l20").compute.fp16 is None
