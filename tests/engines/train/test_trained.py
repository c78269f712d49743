"""Trained numbers: LitGPT prints them for its rows, PEFT's DoRA by hand."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

import llmcalc
from llmcalc.engines.train.trained import count
from tests.training import planned

ROWS = Path(llmcalc.__file__).parent / "measurements"


def _trained(name: str, **asked: object) -> int:
    return count(*planned(name, **asked))


def _published(model: str) -> int:
    """What LitGPT's table says of LoRA on queries and values with rank 8."""
    for file in ("training_memory.tsv", "training_oom.tsv"):
        with (ROWS / file).open(encoding="utf-8") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                found = re.match(r"trainable=([\d,]+); Finetuning with LoRA", row["notes"])
                if found and row["model"] == model:
                    return int(found[1].replace(",", ""))
    raise AssertionError(model)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("phi-1.5", "phi-1.5 1.3B"),
        ("stablelm-base-alpha-3b", "StableLM Alpha 3B"),
        ("llama2-7b", "Llama 2 7B"),
        ("llama2-13b", "Llama 2 13B"),
        ("falcon-40b", "Falcon 40B"),
    ],
)
def test_lora_trains_as_many_numbers_as_litgpt_prints(name: str, model: str) -> None:
    found = _trained(name, method="lora", rank=8, targets=frozenset({"q", "v"}))
    assert found == _published(model)


def test_dora_adds_one_number_an_output() -> None:
    lora = _trained("llama2-7b", method="lora", rank=8, targets=frozenset({"q"}))
    dora = _trained("llama2-7b", method="dora", rank=8, targets=frozenset({"q"}))
    assert dora - lora == 32 * 4096


def test_dora_trains_as_many_numbers_as_peft_prints() -> None:
    """Row me0290, PEFT's MetaMathQA table: rank 32, q_proj and v_proj of Llama 3.2 3B."""
    named = frozenset({"q_proj", "v_proj"})
    found = _trained("llama3.2-3b", method="dora", rank=32, targets=named, framework="peft")
    assert found == 9_289_728


def test_all_of_a_model_is_trained_without_adapters() -> None:
    assert _trained("llama2-7b") == 6_738_415_616


def test_tables_beside_adapters_are_trained_whole() -> None:
    asked = {"method": "lora", "rank": 8, "targets": frozenset({"q"})}
    more = _trained("llama2-7b", trained=frozenset({"embedding", "head"}), **asked)
    assert more - _trained("llama2-7b", **asked) == 2 * 32000 * 4096
