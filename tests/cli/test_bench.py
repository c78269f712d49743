"""`llmcalc bench`, on a measurement that was recorded."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import torch

from llmcalc.bench import run as bench_run
from llmcalc.bench.device import Device
from llmcalc.catalog import measurement as saved
from llmcalc.spec.measurement import Measurement
from tests.catalog.test_measurement import FOUND

Llmcalc = Callable[..., Any]


@pytest.fixture(autouse=True)
def machine(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A device whose measurement is FOUND; returns what it was asked."""
    asked: dict[str, Any] = {}

    def device(kind: str | None = None, index: int = 0) -> Device:
        asked.update(kind=kind, index=index)
        return Device(torch=torch.device("cuda"), name="NVIDIA H200", memory=1, free=1, cache=1)

    def measured(on: Device, card: Any, listener: Any, *, name: str | None, **more: Any) -> Any:
        asked.update(more, card=card.name, device=on.name)
        listener.measures("read of 256 MiB")
        return replace(FOUND, name=name or "unsaved", collectives=())

    def between_ranks(on: Device, listener: Any, *, name: str | None, **more: Any) -> Measurement:
        asked.update(more, device=on.name)
        listener.measures("all_reduce")
        return replace(
            FOUND, name=name or "unsaved", read_gb_s=None, streams=(), matmuls=(), attention=(),
            steps=(), refused=(), disturbed=(),
        )  # fmt: skip

    monkeypatch.setenv("LLMCALC_MEASUREMENTS", str(tmp_path / "measurements"))
    monkeypatch.setattr(bench_run, "device", device)
    monkeypatch.setattr(bench_run, "measured", measured)
    monkeypatch.setattr(bench_run, "between_ranks", between_ranks)
    return asked


def result(run: Any) -> dict[str, Any]:
    assert run.code == 0, run.err
    (found,) = json.loads(run.out)["results"]
    return dict(found)


def test_the_keys_of_the_contract(llmcalc: Llmcalc) -> None:
    found = result(llmcalc("bench", "--json"))
    assert (found["device"], found["read_gb_s"], found["copy_gb_s"], found["peak_gb_s"]) == (
        "NVIDIA H200", 4312.5, None, 4800.0,
    )  # fmt: skip
    assert found["decode"] == {
        "weights_gb_s": 4100.25,
        "kv_gb_s": 3000.0,
        "tokens_per_second": 250.5,
        "mbu": 0.78,
        "predicted_tokens_per_second": pytest.approx(1 / 0.0038),
    }
    (product,) = found["matmul"]
    assert {"m", "n", "k", "dtype", "tflop_s"} <= set(product)
    assert found["launch_seconds"] == 2.1e-6
    assert found["fraction_of_peak"] == pytest.approx(4312.5 / 4800)
    assert found["basis"] == "measured"
    assert found["refused"] == [{"figure": "copy of 256 MiB", "reason": "spread 34% is over 20%"}]
    assert found["allreduce"] == []


def test_the_schema_accepts_the_output(llmcalc: Llmcalc) -> None:
    schema = json.loads(llmcalc("schema", "bench").out)
    jsonschema.validate(json.loads(llmcalc("bench", "--json").out), schema)


def test_the_peak_is_that_of_the_gpu_which_the_driver_names(
    machine: dict[str, Any], llmcalc: Llmcalc
) -> None:
    llmcalc("bench", "--quick", "--model", "zz-tiny")
    assert machine["gpu"] == "h200-sxm5-141gb"
    assert machine["peak"] == 4800
    assert (machine["quick"], machine["card"]) == (True, "zz-tiny")


def test_it_ends_with_predicted_and_measured(llmcalc: Llmcalc) -> None:
    run = llmcalc("bench")
    line = "decode step of llama3-8b, batch 1, context 1024, CUDA graph: predicted 3.8 ms, measured"
    assert f"\n{line} 3.2 ms (+18.8%)\n" in run.out
    assert "spread 34% is over 20%" in run.out
    assert run.err.splitlines() == [
        "loading torch to measure this machine",
        "warning: 1 figure may be too low: decode step: others: had the cores",
    ]


def test_cut_models_and_missing_predictions_are_said(
    llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = replace(FOUND.steps[0], layers=2, predicted_seconds=None, graph=False)
    told = replace(FOUND, steps=(step,))
    monkeypatch.setattr(bench_run, "measured", lambda *_, **__: told)
    what = "decode step of llama3-8b, 2 of 32 layers, batch 1, context 1024"
    assert f"{what}: measured 3.2 ms, not predicted for a rate was refused" in llmcalc("bench").out


def test_what_is_saved_is_found(llmcalc: Llmcalc) -> None:
    run = llmcalc("bench", "--save", "My_Box", "--json")
    assert result(run)["saved"].endswith("my-box.yaml")
    assert saved.find("my-box") == replace(FOUND, collectives=())
    again = llmcalc("bench", "--save", "my-box")
    assert (again.code, again.out) == (2, "")
    assert again.err.startswith("error: a measurement 'my-box' is saved already\nhint: --force")
    assert llmcalc("bench", "--save", "my-box", "--force").code == 0


@pytest.mark.parametrize("name", ["zz-gpu", "zz1", "H100"])
def test_a_name_of_the_catalog_is_not_taken(name: str, llmcalc: Llmcalc) -> None:
    run = llmcalc("bench", "--save", name)
    assert run.code == 2
    assert "is a GPU of the catalog" in run.err
    assert "torch" not in run.err


def test_collectives_need_torchrun(llmcalc: Llmcalc) -> None:
    run = llmcalc("bench", "--collectives")
    assert run.code == 2
    assert run.err.splitlines()[1] == (
        "hint: torchrun --nproc-per-node 2 -m llmcalc bench --collectives"
    )


@pytest.fixture
def torchrun(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """The environment of a rank."""

    def become(rank: int) -> None:
        told = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "MASTER_ADDR": "localhost"}
        for name, value in told.items():
            monkeypatch.setenv(name, str(value))

    return become


def test_the_first_rank_answers(
    llmcalc: Llmcalc, torchrun: Callable[[int], None], machine: dict[str, Any]
) -> None:
    torchrun(0)
    found = result(llmcalc("bench", "--collectives", "--json"))
    assert found["allreduce"] == [{"bytes": 2**28, "gb_s": 472.5}]
    assert (found["model"], found["read_gb_s"]) == (None, None)
    torchrun(1)
    run = llmcalc("bench", "--collectives", "--json")
    assert (run.code, run.out, run.err) == (0, "", "")
    assert machine["index"] == 1


def test_collectives_are_saved_beside_what_the_device_does(
    llmcalc: Llmcalc, torchrun: Callable[[int], None]
) -> None:
    assert llmcalc("bench", "--save", "my-box").code == 0
    torchrun(0)
    assert llmcalc("bench", "--collectives", "--save", "my-box").code == 0
    assert saved.find("my-box") == FOUND


def test_collectives_of_another_device_do_not_mix(
    llmcalc: Llmcalc, torchrun: Callable[[int], None]
) -> None:
    saved.save(replace(FOUND, device="AMD EPYC"))
    torchrun(0)
    run = llmcalc("bench", "--collectives", "--save", "my-box")
    assert run.code == 2
    assert "was measured on another device, AMD EPYC" in run.err


def test_without_torch_it_says_what_to_install_and_nothing_else(
    llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    run = llmcalc("bench")
    assert (run.code, run.out) == (7, "")
    assert run.err.splitlines() == [
        "error: bench needs torch, which is not installed",
        "hint: pip install 'llmcalc-proof[torch]'",
    ]


@pytest.mark.parametrize("form", ["--markdown", "--csv", "--explain", "--units=gb"])
def test_every_form_is_answered(form: str, llmcalc: Llmcalc) -> None:
    assert llmcalc("bench", form).code == 0


def test_csv_has_every_product(llmcalc: Llmcalc) -> None:
    text = llmcalc("bench", "--csv").out
    assert any("14336" in row for row in csv.reader(text.splitlines()))


@pytest.mark.parametrize("columns", ["40", "80", "120"])
def test_figures_are_whole_at_any_width(
    columns: str, llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert "14,336" in llmcalc("bench").out
    assert "…" not in llmcalc("bench").out
