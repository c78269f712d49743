"""`fit --train` as people type it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

Llmcalc = Callable[..., Any]


def test_advice_is_cheapest_first_and_can_be_typed(llmcalc: Llmcalc) -> None:
    run = llmcalc("fit", "llama3-8b", "--gpu", "4090", "--train", "full", "--json")
    (found,) = json.loads(run.out)["results"]
    assert found["verdict"] == "no"
    changes = [one["change"] for one in found["advice"]]
    assert [one.split(",")[0] for one in changes][:2] == ["lora", "qlora"]
    assert any("GPUs under FSDP" in change for change in changes)
    for one in found["advice"]:
        run = llmcalc(
            "train", "llama3-8b", "--gpu", "4090", *shlex.split(one["options"]), "--json"
        )  # fmt: skip
        (same,) = json.loads(run.out)["results"]
        assert (same["per_gpu"]["peak"], same["verdict"]) == (one["needed"], one["verdict"])


def test_options_of_serving_are_refused(llmcalc: Llmcalc) -> None:
    run = llmcalc("fit", "llama3-8b", "--gpu", "4090", "--train", "lora", "--weights", "int4")
    assert run.code == 2
    assert "serve" in run.err


def test_strict_says_no(llmcalc: Llmcalc) -> None:
    run = llmcalc("fit", "llama3-8b", "--gpu", "4090", "--train", "full", "--strict")
    assert run.code == 6
