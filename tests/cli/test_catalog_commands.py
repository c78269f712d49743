"""models, gpus, show and schema, on files whose numbers are worked out by hand."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from llmcalc.cli.group import NAMES
from llmcalc.formula import evaluate

Llmcalc = Callable[..., Any]


def _results(run: Any) -> list[dict[str, Any]]:
    assert (run.code, run.err) == (0, "")
    found: list[dict[str, Any]] = json.loads(run.out)["results"]
    return found


def test_models_counts_parameters(llmcalc: Llmcalc) -> None:
    (row,) = _results(llmcalc("models", "zz-tiny", "--json"))
    assert row["params"] == row["active"] == 228
    assert (row["context"], row["released"], row["basis"]) == (64, "2024-12", "exact")
    assert row["aliases"] == ["zz-org/Tiny"]
    assert row["assumptions"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("zz tiny", True),
        ("ZZ-ORG", True),
        ("zz large", False),
        ("--family ZZ-test", True),
        ("--family zz", False),
        ("zz --min-params 228 --max-params 228", True),
        ("zz --min-params 229", False),
        ("zz --max-params 227", False),
        ("zz --max-params 0", False),
    ],
)
def test_models_finds_by_words_family_and_size(line: str, *, found: bool, llmcalc: Llmcalc) -> None:
    run = llmcalc("models", *line.split(), "--json")
    names = [row["model"] for row in json.loads(run.out)["results"]]
    assert names == (["zz-tiny"] if found else [])
    assert run.code == 0
    assert ("matches" in run.err) is not found


def test_a_broken_card_is_a_warning_and_the_rest_is_listed(catalog: Path, llmcalc: Llmcalc) -> None:
    (catalog / "cards" / "broken.yaml").write_text("name: [", encoding="utf-8")
    run = llmcalc("models", "zz")
    assert run.code == 0
    assert "zz-tiny" in run.out
    assert run.err.startswith("warning: ")
    assert "broken.yaml" in run.err


def test_gpus_plans_on_what_the_driver_reports_and_the_lowest_price(llmcalc: Llmcalc) -> None:
    (row,) = _results(llmcalc("gpus", "zz1", "--json"))
    assert (row["memory"], row["memory_source"]) == (81559 * 2**20, "driver")
    assert (row["bandwidth_gb_s"], row["bf16_tflop_s"]) == (3350, 989.4)
    assert (row["usd_per_hour"], row["price_date"]) == (2.5, "2026-02-03")
    assert row["price_provider"] == "cheap"


def test_gpus_prints_memory_in_the_unit_asked_for(llmcalc: Llmcalc) -> None:
    head, row, *_ = llmcalc("gpus", "zz1").out.splitlines()
    assert "memory GiB" in head
    assert row.split() == ["zz-gpu", "79.65", "80", "3,350", "989.4", "700", "2.50", "2026-02-03"]
    head, row, *_ = llmcalc("gpus", "zz1", "--units", "BYTES").out.splitlines()
    assert "memory bytes" in head
    assert row.split()[1] == "85,520,809,984"


def test_gpus_csv_reads_back_in_base_units(llmcalc: Llmcalc) -> None:
    (row,) = csv.DictReader(llmcalc("gpus", "zz1", "--csv").out.splitlines())
    assert row["memory"] == "85520809984"
    assert float(row["bandwidth_gb_s"]) == 3350


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("--vendor zz", True),
        ("zz --kind gpu", True),
        ("zz --kind tpu", False),
        ("zz --min-memory 80GB", True),
        ("zz --min-memory 80GiB", False),
    ],
)
def test_gpus_filters_by_vendor_kind_and_memory(
    line: str, *, found: bool, llmcalc: Llmcalc
) -> None:
    names = [
        row["gpu"] for row in json.loads(llmcalc("gpus", *line.split(), "--json").out)["results"]
    ]
    assert names == (["zz-gpu"] if found else [])


def test_show_prints_a_card_that_reads_back_to_itself(catalog: Path, llmcalc: Llmcalc) -> None:
    first = llmcalc("show", "zz-org/tiny")
    assert yaml.safe_load(first.out)["hidden_size"] == 4
    path = catalog / "copy.yaml"
    path.write_text(first.out, encoding="utf-8")
    assert llmcalc("show", str(path)).out == first.out


def test_show_finds_a_gpu_without_being_told(llmcalc: Llmcalc) -> None:
    run = llmcalc("show", "zz1")
    assert run.code == 0
    assert yaml.safe_load(run.out)["memory"]["reported_mib"] == 81559
    (shown,) = _results(llmcalc("show", "zz1", "--stage", "gpu", "--json"))
    assert (shown["stage"], shown["gpu"]["vendor"]) == ("gpu", "ZZ")


def test_show_prints_the_operations_with_their_shapes(llmcalc: Llmcalc) -> None:
    (shown,) = _results(llmcalc("show", "zz-tiny", "--stage", "ops", "--json"))
    assert sum(one["params"] * one["times"] for one in shown["operations"]) == 228
    table = llmcalc("show", "zz-tiny", "--stage", "ops").out
    assert "[10, 4]" in table


def test_explain_shows_where_memory_and_counts_come_from(llmcalc: Llmcalc) -> None:
    (step,) = json.loads(llmcalc("gpus", "zz1", "--explain", "--json").out)["steps"]
    assert evaluate(step["text"], {"reported_mib": 81559}) == step["result"] == 81559 * 2**20
    assert (step["source"], step["basis"]) == ("a page", "published")
    text = llmcalc("models", "zz", "--explain").out
    assert "= embedding + attention + mlp + norm + lm_head\n" in text
    assert "= 40 + 64 + 72 + 12 + 40\n" in text


@pytest.mark.parametrize("name", ["card", "gpu"])
def test_schema_of_a_file_accepts_what_show_prints(name: str, llmcalc: Llmcalc) -> None:
    schema = json.loads(llmcalc("schema", name).out)
    shown = {"card": "zz-tiny", "gpu": "zz1"}[name]
    (result,) = _results(llmcalc("show", shown, "--json"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(result[name], schema)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("params", "params zz-tiny"),
        ("flops", "flops zz-tiny --seq 64"),
        ("memory", "memory zz-tiny --seq 64"),
        ("fit", "fit zz-tiny --gpu zz-gpu --seq 64"),
        ("fit", "fit zz-tiny --gpu zz-gpu --seq 64 --train lora"),
        ("train", "train zz-tiny --gpu zz-gpu --seq 64"),
        ("rlhf", "rlhf zz-tiny --algo ppo --gpu zz-gpu --seq 64"),
        ("models", "models zz"),
        ("gpus", "gpus zz"),
        ("show", "show zz-tiny --stage ops"),
        ("show", "show zz-gpu"),
        ("schema", "schema"),
        ("schema", "schema card"),
    ],
)
def test_schema_of_a_command_accepts_its_output(name: str, line: str, llmcalc: Llmcalc) -> None:
    schema = json.loads(llmcalc("schema", name).out)
    assert schema["title"] == f"llmcalc/{name}/1"
    jsonschema.validate(json.loads(llmcalc(*line.split(), "--json").out), schema)


def test_schema_lists_what_there_is(llmcalc: Llmcalc) -> None:
    names = [row["name"] for row in _results(llmcalc("schema", "--json"))]
    assert sorted(names) == sorted(["card", "gpu", *NAMES])


@pytest.mark.parametrize("form", ["--markdown", "--csv", "--explain", "--units=gb"])
@pytest.mark.parametrize("line", ["models zz", "gpus zz", "show zz-tiny", "schema card"])
def test_every_form_is_answered(form: str, line: str, llmcalc: Llmcalc) -> None:
    run = llmcalc(*line.split(), form)
    assert (run.code, run.err) == (0, "")
