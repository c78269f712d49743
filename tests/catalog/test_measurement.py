"""Measurements are saved, found by name, and refused where a file says something else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from llmcalc.catalog import measurement as saved
from llmcalc.catalog.write import measurement_yaml
from llmcalc.errors import InvalidFileError, UnknownNameError, UsageError
from llmcalc.spec.measurement import (
    AttentionRate,
    CollectiveRate,
    MatmulRate,
    Measurement,
    Refusal,
    StepRate,
    StreamRate,
)

TIMES = {"seconds": 0.0032, "seconds_p10": 0.0031, "seconds_p90": 0.0034}
FOUND = Measurement(
    name="my-box",
    device="NVIDIA H200",
    kind="cuda",
    gpu="h200-sxm5-141gb",
    date="2026-11-30",
    host_cpu="AMD EPYC",
    versions={"torch": "2.13.0", "driver": "12080"},
    clocks={"sm_mhz": 1980.0},
    threads=16,
    memory_bytes=150_754_820_096,
    cache_bytes=62_914_560,
    peak_gb_s=4800.0,
    read_gb_s=4312.5,
    weights_gb_s=4100.25,
    kv_gb_s=3000.0,
    kv_kernel="sdpa",
    launch_seconds=2.1e-06,
    streams=(StreamRate(operation="read", bytes=2**30, gb_s=4312.5, **TIMES),),
    matmuls=(
        MatmulRate(
            m=1, n=14336, k=4096, dtype="int8", kernel="weight_int8pack_mm", tflop_s=8.2,
            gb_s=4100.25, **TIMES,
        ),
    ),
    attention=(
        AttentionRate(
            batch=1, context=4096, heads=32, kv_heads=8, qk_dim=128, v_dim=128, dtype="bf16",
            kernel="sdpa", bytes=16777216, gb_s=3000.0, **TIMES,
        ),
    ),
    steps=(
        StepRate(
            model="llama3-8b", layers=32, of_layers=32, batch=1, context=1024, dtype="bf16",
            kernel="sdpa", graph=True, operators=1100, weight_bytes=15009316864,
            kv_bytes=134217728, tokens_per_second=250.5, mbu=0.78, predicted_seconds=0.0038,
            **TIMES,
        ),
    ),
    collectives=(
        CollectiveRate(
            operation="all_reduce", backend="nccl", ranks=8, bytes=2**28, algorithm_gb_s=270.0,
            bus_gb_s=472.5, **TIMES,
        ),
    ),
    refused=(Refusal(figure="copy of 256 MiB", reason="spread 34% is over 20%"),),
    disturbed=(Refusal(figure="decode step", reason="others: had the cores"),),
)  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder and a cache of this test's own."""
    monkeypatch.setenv("LLMCALC_MEASUREMENTS", str(tmp_path / "measurements"))
    monkeypatch.setenv("LLMCALC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "measurements"


def test_what_is_saved_is_found_again(folder: Path) -> None:
    assert saved.find("my-box") is None
    assert saved.names() == ()
    path = saved.save(FOUND)
    assert path == str(folder / "my-box.yaml")
    assert saved.find("my-box") == saved.find("My_Box") == saved.read(path) == FOUND
    assert saved.names() == ("my-box",)


def test_a_name_is_taken_once() -> None:
    saved.save(FOUND)
    other = replace(FOUND, read_gb_s=4000.0)
    with pytest.raises(UsageError, match="exists already"):
        saved.save(other)
    with pytest.raises(UsageError, match="a measurement 'my-box' is saved already"):
        saved.free("my box", force=False)
    assert saved.free("My Box", force=True) == "my-box"
    saved.save(other, force=True)
    assert saved.find("my-box") == other


@pytest.mark.parametrize("name", ["", "../up", "a/b", "-x", ".x", "x" * 81, "ä", "a\0b"])
def test_a_name_that_is_none_is_refused_and_never_found(name: str) -> None:
    with pytest.raises(UsageError, match="is no name to save under"):
        saved.free(name, force=False)
    assert saved.find(name) is None


def test_a_file_that_says_something_else_is_refused_with_its_line(folder: Path) -> None:
    saved.save(FOUND)
    path = folder / "my-box.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("read_gb_s: 4312.5", "read_gb_s: fast"), encoding="utf-8")
    with pytest.raises(InvalidFileError, match=r"my-box\.yaml:\d+: read_gb_s must be a number"):
        saved.find("my-box")


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(UnknownNameError):
        saved.read("nowhere.yaml")


def test_a_folder_that_cannot_be_made_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMCALC_MEASUREMENTS", "/dev/null/nowhere")
    with pytest.raises(UsageError, match="cannot be made"):
        saved.save(FOUND)


def test_the_text_is_yaml_without_what_is_not_known() -> None:
    text = measurement_yaml(replace(FOUND, copy_gb_s=None, collectives=()))
    assert text.startswith("name: my-box\ndevice: NVIDIA H200\n")
    assert "copy_gb_s" not in text
    assert "collectives" not in text
