"""`fit --train` as people type it."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

Llmcalc = Callable[..., Any]


def _results(llmcalc: Llmcalc, *line: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(llmcalc("fit", *line, "--json").out)["results"]
    return found


def _added(llmcalc: Llmcalc, *line: str) -> list[str]:
    """What the last table says to add to the command; CSV quotes what a sheet would compute."""
    table = llmcalc("fit", *line, "--csv").out.split("\n\n")[-1]
    return [row["add"].lstrip("'") for row in csv.DictReader(table.splitlines())]


def test_layers_are_recomputed_unless_told_not_to(llmcalc: Llmcalc) -> None:
    """As TRL, LLaMA-Factory, torchtune and axolotl do: 7B and 8B are trained on 24 GB by QLoRA."""
    (found,) = _results(llmcalc, "llama3-8b", "--gpu", "4090", "--train", "qlora")
    assert found["verdict"] == "fits"
    assert "full" in found["assumptions"]["recompute"]
    (kept,) = _results(
        llmcalc, "llama3-8b", "--gpu", "4090", "--train", "qlora", "--recompute", "none"
    )
    assert kept["needed"] > found["needed"]
    assert kept["assumptions"]["recompute"] == "none"


@pytest.mark.parametrize(
    ("method", "option", "key"),
    [
        ("full", "--precision pure-bf16", "precision"),
        ("full", "--optimizer adamw-8bit", "optimizer"),
        ("qlora", "--loss chunked", "loss"),
        ("full", "--framework torchtune", "framework"),
        ("full", "--offload", "offloaded"),
        ("full", "--offload-only optimizer", "offloaded"),
        ("full", "-n 8 --shard zero1", "dealt out"),
        ("lora", "--rank 64", "adapters"),
    ],
)
def test_options_of_training_count_and_are_said(
    llmcalc: Llmcalc, method: str, option: str, key: str
) -> None:
    line = ("llama3-8b", "--gpu", "h100", "--train", method)
    (usual,), (other,) = _results(llmcalc, *line), _results(llmcalc, *line, *option.split())
    assert usual["needed"] != other["needed"]
    assert usual["assumptions"][key] != other["assumptions"][key]


@pytest.mark.parametrize(
    "line",
    [
        "llama3-8b --gpu 4090 --train full",
        "llama3-8b --gpu 4090 --train lora -b 32 --recompute none",
        "llama3-70b --gpu h100 -n 8 --train full",
        "llama3-70b --gpu h100 -n 8 --train full --shard ddp",
        "qwen2.5-14b --gpu 4090 --train qlora",
        "qwen2.5-32b --gpu 4090 --train dora --rank 64",
    ],
)
def test_advice_can_be_typed(llmcalc: Llmcalc, line: str) -> None:
    model, _, device, *_ = line.split()
    (found,) = _results(llmcalc, *line.split())
    assert found["verdict"] in {"no", "tight"}
    assert 0 < len(found["advice"]) <= 8
    for one, added in zip(found["advice"], _added(llmcalc, *line.split()), strict=True):
        assert one["verdict"] in {"fits", "tight"}
        typed = llmcalc("train", model, "--gpu", device, *shlex.split(one["options"]), "--json")
        (same,) = json.loads(typed.out)["results"]
        assert (same["per_gpu"]["peak"], same["verdict"]) == (one["needed"], one["verdict"])
        assert same["per_gpu"]["host"] * same["gpus"] == one["host"]
        (again,) = _results(llmcalc, *line.split(), *added.split())
        assert (again["needed"], again["host"]) == (one["needed"], one["host"])


@pytest.mark.parametrize(
    "line",
    [
        "llama3-8b --gpu 4090 --train full",
        "llama3-8b --gpu 4090 --train lora -s 1k -b 2 --recompute none",
        "meta-llama/Llama-3.1-70B --gpu h100 -n 8 --train qlora --rank 64 --offload",
    ],
)
def test_the_same_line_of_train_is_printed(llmcalc: Llmcalc, line: str) -> None:
    """`train` has other defaults: 2,048 tokens, nothing computed again, nothing dealt out."""
    (found,) = _results(llmcalc, *line.split())
    shown = llmcalc("fit", *line.split()).out
    typed = shown.split("the same: llmcalc ")[1].split("\n\n")[0].split()
    assert typed[1] == line.split(maxsplit=1)[0]
    (same,) = json.loads(llmcalc(*typed, "--json").out)["results"]
    assert (same["per_gpu"]["peak"], same["verdict"]) == (found["needed"], found["verdict"])


def test_advice_is_cheapest_first(llmcalc: Llmcalc) -> None:
    """Llama-3-70B on 8 H100: the method kept, then less trained, offloaded, on more GPUs."""
    (found,) = _results(llmcalc, "llama3-70b", "--gpu", "h100", "-n", "8", "--train", "full")
    changes = [one["change"] for one in found["advice"]]
    order = ["AdamW", "LoRA", "QLoRA", "offload states", "weights", "GPUs under FSDP"]
    at = [next(n for n, change in enumerate(changes) if word in change) for word in order]
    assert at == sorted(at)
    offloaded = next(one for one in found["advice"] if "--offload" in one["options"].split())
    # 16 bytes of each number go to the hosts: 2 of the weight, 2 of its gradient, 4 of its master,
    # 8 of its moments (ZeRO-Offload, arXiv:2101.06840).
    assert offloaded["host"] == pytest.approx(16 * 70_553_706_496, rel=1e-6)


def test_changes_are_combined_only_where_none_is_enough_alone(llmcalc: Llmcalc) -> None:
    line = ("llama3-8b", "--gpu", "h100", "--train", "lora", "--recompute", "none", "-b", "4")
    (found,) = _results(llmcalc, *line)
    changes = [one["change"] for one in found["advice"]]
    assert changes[:2] == ["micro-batch 1", "recompute"]
    assert not any("," in change for change in changes)


def test_on_one_gpu_nothing_is_dealt_out(llmcalc: Llmcalc) -> None:
    (found,) = _results(llmcalc, "llama3-8b", "--gpu", "4090", "--train", "full")
    assert not any("ZeRO" in one["change"] for one in found["advice"])
    copies = ("llama3-8b", "--gpu", "h100", "-n", "8", "--train", "full", "--shard", "ddp")
    (found,) = _results(llmcalc, *copies)
    assert sum("ZeRO stage" in one["change"] for one in found["advice"]) == 1


def test_a_model_by_each_method(llmcalc: Llmcalc) -> None:
    line = ("llama3-8b", "--gpu", "4090", "--train", "all")
    found = {one["method"]: one for one in _results(llmcalc, *line)}
    assert list(found) == ["full", "lora", "dora", "qlora"]
    # Full training takes 16 bytes a number and more, however little else does.
    assert found["full"]["verdict"] == "no"
    assert found["qlora"]["verdict"] == "fits"
    table = llmcalc("fit", *line).out
    assert table.count("llama3-8b") == 4


def test_the_largest_model_by_each_method(llmcalc: Llmcalc) -> None:
    found = {one["method"]: one for one in _results(llmcalc, "--gpu", "4090", "--train", "all")}
    assert {one["verdict"] for one in found.values()} == {"fits"}
    # 24 GB hold fewer than 12 billion numbers of 16 bits, and 4 billion of 6 bytes.
    assert found["full"]["params"] < 4e9
    assert 7e9 < found["lora"]["params"] < 12e9
    # QLoRA, arXiv:2305.14314: some 33 billion numbers on 24 GB.
    assert 13e9 < found["qlora"]["params"] < 40e9
    for one in found.values():
        typed = llmcalc("train", one["model"], "--gpu", "4090", *one["options"].split(), "--json")
        (same,) = json.loads(typed.out)["results"]
        assert same["per_gpu"]["peak"] == one["needed"]


def test_none_of_a_selection_may_fit(llmcalc: Llmcalc) -> None:
    run = llmcalc("fit", "--gpu", "t4", "--train", "all", "--min-params", "100B", "--csv")
    assert run.code == 0
    assert [line.split(",")[1] for line in run.out.splitlines()[1:5]] == ["none"] * 4


def test_a_rank_is_that_of_adapters(llmcalc: Llmcalc) -> None:
    run = llmcalc("fit", "gemma3-270m", "--gpu", "h100", "--train", "all", "--rank", "64", "--json")
    ranks = [one["assumptions"].get("adapters", "") for one in json.loads(run.out)["results"]]
    assert [rank.split(" on ")[0] for rank in ranks] == ["", "rank 64", "rank 64", "rank 64"]


@pytest.mark.parametrize(
    "line",
    ["llama3-8b --gpu 4090 --train full", "llama3-8b --gpu 4090 --train all",
     "--gpu 4090 --train qlora --family llama", "--gpu 4090 --train all --family llama"],
)  # fmt: skip
def test_answers_are_as_the_schema_says(llmcalc: Llmcalc, line: str) -> None:
    schema = json.loads(llmcalc("schema", "fit").out)
    jsonschema.validate(json.loads(llmcalc("fit", *line.split(), "--json").out), schema)


@pytest.mark.parametrize(
    ("line", "code", "word"),
    [
        ("llama3-8b --gpu 4090 --train lora --weights int4", 2, "serve"),
        ("llama3-8b --gpu 4090 --recompute full", 2, "--train"),
        ("llama3-8b --gpu 4090 --train full --rank 8", 2, "adapters"),
        ("llama3-8b --gpu 4090 --train full --optimizer adamm", 2, "optimizer"),
        ("llama3-8b --gpu 4090 --train full --offload --offload-only optimizer", 2, "offload"),
        ("--gpu 4090 --train full -b 0", 5, "--batch"),
        ("llama3-8b --gpu 4090 --train full --strict", 6, ""),
    ],
)
def test_what_cannot_be_is_refused(llmcalc: Llmcalc, line: str, code: int, word: str) -> None:
    run = llmcalc("fit", *line.split())
    assert run.code == code
    assert word in run.err
