"""The keys of the contract, written out: a script relies on each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llmcalc.api.fit import Question, fits
from llmcalc.api.flops import flops
from llmcalc.api.memory import memory
from llmcalc.api.memory_result import Room
from llmcalc.api.params import params
from llmcalc.api.plans import Asked, plan
from llmcalc.api.setup import setup
from llmcalc.api.train import train
from llmcalc.catalog.find import card, gpu
from llmcalc.report.asjson import asjson
from llmcalc.report.model import Report

COMMON = {"model", "basis", "assumptions"}
COMPONENTS = {
    "embedding", "attention", "mlp", "experts", "shared_expert", "router", "ssm", "norm", "lm_head",
    "vision", "other",
}  # fmt: skip

KEYS: dict[str, set[str]] = {
    "params": COMMON | COMPONENTS | {
        "total", "active", "tied_embeddings", "mtp", "stored", "published", "bytes", "confidence",
    },
    "flops": COMMON | {
        "phase", "matmul", "attention", "other", "total", "rule_of_thumb", "rule_error",
        "model_flops", "per_token", "tokens", "by_component",
    },
    "memory": COMMON | {
        "per_gpu", "kv_bytes_per_token", "state_bytes_per_sequence", "parts", "capacity", "budget",
        "free", "kv_tokens", "max_concurrency", "max_batch", "max_context",
    },
    "fit": COMMON | {
        "verdict", "needed", "capacity", "free", "max_batch", "max_context", "limit", "advice",
    },
    "train": COMMON | {"per_gpu"},
}  # fmt: skip
NESTED: dict[tuple[str, str], set[str]] = {
    ("params", "bytes"): {"fp32", "bf16", "fp8", "int8", "int4"},
    ("params", "published"): {"value", "relation", "source"},
    ("memory", "per_gpu"): {"weights", "kv_cache", "state", "activations", "runtime", "total"},
    ("train", "per_gpu"): {
        "weights",
        "gradients",
        "master_weights",
        "optimizer",
        "activations",
        "logits",
        "buffers",
        "runtime",
        "peak",
    },
}


def _report(command: str) -> Report:
    model, chosen = card("llama2-13b"), setup()
    if command == "params":
        return params([model])
    if command == "flops":
        return flops(model)
    if command == "memory":
        return memory(model, chosen, room=Room(gpu=gpu("a100-80")))
    if command == "train":
        return train(model, plan(Asked()))
    return fits([model], Question(gpu=gpu("a100-80"), batch=16, seq=4_096, setup=chosen))


def _result(command: str) -> dict[str, Any]:
    whole = json.loads(asjson(_report(command)))
    assert set(whole) == {"schema", "results"}
    assert whole["schema"] == f"llmcalc/{command}/1"
    (result,) = whole["results"]
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize("command", KEYS)
def test_the_keys_that_the_contract_names_are_there(command: str) -> None:
    assert KEYS[command] <= set(_result(command))


@pytest.mark.parametrize(("command", "key"), NESTED)
def test_the_keys_inside_are_there(command: str, key: str) -> None:
    assert NESTED[command, key] <= set(_result(command)[key])


def test_params_names_nothing_that_the_contract_does_not() -> None:
    assert set(_result("params")) == KEYS["params"]
    assert set(_result("flops")) == KEYS["flops"]


@pytest.mark.parametrize("command", KEYS)
def test_same_input_gives_the_same_bytes(command: str) -> None:
    assert asjson(_report(command)) == asjson(_report(command))


def test_items_of_lists_have_their_keys() -> None:
    assert {"name", "bytes", "basis"} <= set(_result("memory")["parts"][0])
    assert {"change", "needed"} <= set(_result("fit")["advice"][0])


@pytest.mark.parametrize("command", KEYS)
def test_numbers_are_plain_integers_in_base_units(command: str) -> None:
    """Only ratios, shares and counts of sequences at once may be fractions."""
    fractions = {"rule_error", "max_concurrency", "per_token", "error_p50", "error_p90"}

    def walk(key: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, each in value.items():
                walk(name, each)
        elif isinstance(value, list):
            for each in value:
                walk(key, each)
        elif isinstance(value, float):
            assert key in fractions, (key, value)

    walk("", _result(command))


def test_bases_are_those_of_the_contract() -> None:
    assert _result("params")["basis"] == _result("flops")["basis"] == "exact"
    assert {part["basis"] for part in _result("memory")["parts"]} == {"exact", "modelled"}
