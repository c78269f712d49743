"""The shipped GPU specs say what the open data says, each number with its source."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

import pytest

from llmcalc.catalog import find
from llmcalc.catalog.validate import validate
from llmcalc.catalog.yamlfile import read
from llmcalc.spec.gpu import GpuSpec

ROOT = Path(__file__).parents[2]
SPECS = ROOT / "gpu_specs"
OPEN_DATA = ROOT / "tests" / "data" / "gpus"
NAMES = sorted(path.stem for path in SPECS.glob("*.yaml"))
NO_MEMORY_SIZE = {
    "cambricon-mlu370-x8", "cpu-epyc-9654", "cpu-epyc-turin", "cpu-epyc-milan", "cpu-xeon-spr",
}  # fmt: skip

MEANT = {
    "a100": "a100-sxm4-80gb", "a100-80": "a100-sxm4-80gb", "a100-80gb": "a100-sxm4-80gb",
    "a100-sxm": "a100-sxm4-80gb", "a100-40": "a100-sxm4-40gb", "a100-pcie": "a100-pcie-80gb",
    "h100": "h100-sxm5-80gb", "h100-sxm": "h100-sxm5-80gb", "h100-80": "h100-sxm5-80gb",
    "h100-pcie": "h100-pcie-80gb", "h100-nvl": "h100-nvl-94gb", "h200": "h200-sxm5-141gb",
    "h20": "h20-sxm5-96gb", "h800": "h800-sxm5-80gb", "b200": "b200-sxm6", "b300": "b300-sxm6",
    "gb200": "gb200-nvl72", "gb300": "gb300-nvl72", "l4": "l4", "l40s": "l40s", "t4": "t4",
    "v100": "v100-sxm2-16gb", "v100-32": "v100-sxm2-32gb", "p100": "p100-sxm2-16gb",
    "rtx4090": "rtx-4090", "4090": "rtx-4090", "rtx3090": "rtx-3090", "3090": "rtx-3090",
    "5090": "rtx-5090", "3090ti": "rtx-3090-ti", "4090d": "rtx-4090-d", "a6000": "rtx-a6000",
    "6000-ada": "rtx-6000-ada", "rtx-pro-6000": "rtx-pro-6000-blackwell-ws", "mi250": "mi250x",
    "mi300x": "mi300x", "mi355x": "mi355x", "gaudi3": "gaudi3", "m1": "apple-m1",
    "m3-max": "apple-m3-max", "m5-ultra": "apple-m5-ultra", "v5e": "tpu-v5e",
    "trillium": "tpu-v6e", "ironwood": "tpu-v7-ironwood", "trn1": "trainium1",
    "trn2": "trainium2", "inf2": "inferentia2", "spark": "dgx-spark-gb10",
    "strix-halo": "ryzen-ai-max-395", "910b": "ascend-910b",
}  # fmt: skip


@cache
def spec(name: str) -> GpuSpec:
    """The shipped spec of that name, validated."""
    path = SPECS / f"{name}.yaml"
    return validate(GpuSpec, read(path.read_text(encoding="utf-8"), str(path)))


def table(name: str) -> list[dict[str, str]]:
    """The rows of an open data table."""
    with (OPEN_DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@cache
def row(name: str) -> dict[str, str]:
    """The row of one device: of the open data, else of the siblings that we added."""
    rows = (*table("gpus.tsv"), *table("siblings.tsv"))
    return next(one for one in rows if one["slug"] == name)


def number(cell: str) -> float | None:
    """A cell as a number, None where it is empty."""
    return float(cell) if cell else None


def test_catalog_has_every_open_row_with_a_memory_size() -> None:
    """Only devices whose memory size nobody can state are left out, and at least 80 remain."""
    missing = {one["slug"] for one in table("gpus.tsv")} - set(NAMES)
    assert missing == NO_MEMORY_SIZE
    assert len(NAMES) >= 80
    assert not any(row(name)["mem_marketed_gb"] for name in missing)


@pytest.mark.parametrize("name", NAMES)
def test_spec_is_valid_and_named_after_its_file(name: str) -> None:
    """Every shipped spec passes validation, is named as its file, and points at the schema."""
    assert spec(name).name == name
    first = (SPECS / f"{name}.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=gpu.schema.json"


@pytest.mark.parametrize("name", NAMES)
def test_memory_equals_the_open_row(name: str) -> None:
    """Sizes and bandwidth are the open data's numbers, none added and none lost."""
    memory, cells = spec(name).memory, row(name)
    assert memory.marketed_gb == number(cells["mem_marketed_gb"])
    assert memory.reported_mib == number(cells["mem_reported_mib"])
    assert memory.torch_gib == number(cells["mem_torch_gib"])
    assert memory.bandwidth_gb_s == number(cells["mem_bw_gbs"])
    assert memory.l2_mb == number(cells["l2_mb"])


@pytest.mark.parametrize("name", NAMES)
def test_rates_equal_the_open_row(name: str) -> None:
    """Dense peak rates of every type are the open data's numbers, none added and none lost."""
    compute, cells = spec(name).compute, row(name)
    assert compute.fp32 == number(cells["fp32_tflops"])
    assert compute.tf32 == number(cells["tf32_dense"])
    assert compute.fp16 == number(cells["fp16_dense"])
    assert compute.bf16 == number(cells["bf16_dense"])
    assert compute.fp8 == number(cells["fp8_dense"])
    assert compute.int8 == number(cells["int8_dense_tops"])
    assert compute.fp4 == number(cells["fp4_dense"])


@pytest.mark.parametrize("name", NAMES)
def test_link_and_power_equal_the_open_row(name: str) -> None:
    """Link, power and year are the open data's numbers where the row has a source for them."""
    gpu, cells = spec(name), row(name)
    assert gpu.released == number(cells["release_year"])
    if not cells["src_link_power"]:
        assert (gpu.link, gpu.tdp_w, gpu.pcie) == (None, None, None)
        return
    assert gpu.tdp_w == number(cells["tdp_w"])
    assert (gpu.link.name if gpu.link else "") == cells["link_name"]
    if gpu.link:
        told = number(cells["link_gbs_per_direction"])
        assert told is None or gpu.link.gb_s_per_direction == told
        assert gpu.link.max_gpus == number(cells["max_gpus_link_domain"])


@pytest.mark.parametrize("name", NAMES)
def test_each_group_of_numbers_has_a_source(name: str) -> None:
    """Memory, driver readings, rates, link and power each say where they were read."""
    gpu = spec(name)
    memory, compute = gpu.memory, gpu.compute
    groups = {"memory"}
    if memory.reported_mib or memory.torch_gib:
        groups.add("memory_reported")
    if any(getattr(compute, key) for key in ("fp32", "fp16", "bf16", "fp8", "int8")):
        groups.add("compute")
    if gpu.link or gpu.tdp_w or gpu.pcie:
        groups.add("link" if gpu.link else "power")
    assert set(gpu.sources) == groups
    assert all(
        re.search(r"https?://|stored file|whitepaper", text) for text in gpu.sources.values()
    )


@pytest.mark.parametrize("name", NAMES)
def test_prices_are_open_rows_with_date_and_source(name: str) -> None:
    """Each price is one number of the open table, with its day or snapshot and its source."""
    known = {
        (one["provider"], float(one["usd_per_hour"]), one["date"])
        for one in table("prices.tsv")
        if one["gpu"] == name and "-" not in one["usd_per_hour"]
    }
    for price in spec(name).prices:
        assert (price.provider, price.usd_per_hour, price.date) in known
        assert "http" in price.source or "stored file" in price.source


def test_prices_that_the_data_warns_about_are_left_out() -> None:
    """No spec carries the doubtful high column or a list price marked as an estimate."""
    providers = {price.provider for name in NAMES for price in spec(name).prices}
    assert "RunPod (low column)" in providers
    assert "RunPod (high column)" not in providers
    assert not any("estimate" in provider for provider in providers)


@pytest.mark.parametrize("name", NAMES)
def test_disputes_and_derivations_are_kept(name: str) -> None:
    """What the open data doubts or derives is said in the spec, and nothing else is."""
    assert bool(spec(name).disputed) == bool(row(name)["disputed_fields"])
    assert bool(spec(name).derived) == bool(row(name)["derived_fields"])


def test_no_name_stands_for_two_devices() -> None:
    """Names and aliases are lower case and unique over the catalog, hyphens aside."""
    owner: dict[str, str] = {}
    for name in NAMES:
        for spelling in (name, *spec(name).aliases):
            assert spelling == spelling.lower()
            assert owner.setdefault(spelling.replace("-", ""), name) == name, spelling
        assert len(set(spec(name).aliases)) == len(spec(name).aliases)


@pytest.mark.parametrize(("typed", "meant"), MEANT.items())
def test_spelling_that_people_type_names_the_right_device(typed: str, meant: str) -> None:
    """Usual short names belong to the spec that people mean by them."""
    assert typed in (meant, *spec(meant).aliases)


@pytest.mark.parametrize(("typed", "meant"), MEANT.items())
def test_catalog_finds_the_device_by_the_spelling(typed: str, meant: str) -> None:
    """Looking a short name up gives that device."""
    assert find.gpu(typed).name == meant


@pytest.mark.parametrize(
    "name", ["apple-m1", "apple-m5-ultra", "ryzen-ai-max-395", "dgx-spark-gb10", "mi300a",
             "jetson-agx-orin-64gb", "jetson-thor-t5000"],
)  # fmt: skip
def test_memory_shared_with_the_processor_is_marked(name: str) -> None:
    """Devices without memory of their own say so, and no driver total is made up for them."""
    assert spec(name).memory.unified
    assert spec(name).memory.reported_mib is None


def test_cards_with_their_own_memory_are_not_unified() -> None:
    """A board with its own memory is never marked as sharing it."""
    assert not spec("h100-sxm5-80gb").memory.unified
    assert not spec("gh200-96gb").memory.unified


def test_apple_sizes_are_said_to_be_the_largest() -> None:
    """Apple chips are sold with several sizes; the notes say which one is listed."""
    for name in NAMES:
        if name.startswith("apple-"):
            assert "largest configuration" in (spec(name).notes or ""), name


def test_rates_that_introductory_tables_get_wrong() -> None:
    """RTX 5090, A6000, 6000 Ada and V100 have their dense rates; V100 has no bf16 at all."""
    assert spec("rtx-5090").compute.bf16 == 209.5
    assert spec("rtx-5090").released == 2025
    assert spec("rtx-a6000").compute.bf16 == 154.8
    assert spec("rtx-6000-ada").compute.bf16 == 364.2
    assert spec("v100-sxm2-16gb").compute.fp16 == 125
    assert spec("v100-sxm2-16gb").compute.bf16 is None


def test_memory_that_introductory_tables_get_wrong() -> None:
    """A B200 offers 180 GB, a GB200 superchip of two 372; one B200 is 18 V100, not 21."""
    assert spec("b200-sxm6").memory.marketed_gb == 180
    assert 2 * (spec("gb200-nvl72").memory.marketed_gb or 0) == 372
    b200, v100 = spec("b200-sxm6").compute.fp16, spec("v100-sxm2-16gb").compute.fp16
    assert (b200 or 0) / (v100 or 1) == 18


def test_driver_total_is_below_the_box_for_h100() -> None:
    """An H100 sold with 80 GB reports 81,559 MiB, of which torch sees 79.11 GiB."""
    memory = spec("h100-sxm5-80gb").memory
    assert (memory.marketed_gb, memory.reported_mib, memory.torch_gib) == (80, 81559, 79.11)
