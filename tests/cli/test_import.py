"""`llmcalc import` on the command line: the card on stdout, what it does not know on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

Llmcalc = Callable[..., Any]
LLAMA = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
    "num_hidden_layers": 2, "vocab_size": 100, "max_position_embeddings": 512,
}  # fmt: skip


@pytest.fixture
def config(catalog: Path) -> str:
    """The path of a config.json."""
    (catalog / "tiny").mkdir()
    (catalog / "tiny" / "config.json").write_text(json.dumps(LLAMA))
    return str(catalog / "tiny" / "config.json")


def test_stdout_is_a_card_that_other_commands_take(
    config: str, catalog: Path, llmcalc: Llmcalc
) -> None:
    run = llmcalc("import", config)
    assert run.code == 0
    assert run.err.startswith("warning: not known: released (")
    (catalog / "mine.yaml").write_text(run.out)
    assert llmcalc("params", str(catalog / "mine.yaml")).out == llmcalc("params", config).out


def test_json_has_card_unknown_and_stored(config: str, llmcalc: Llmcalc) -> None:
    run = llmcalc("import", config, "--json")
    whole = json.loads(run.out)
    (result,) = whole["results"]
    assert result["card"]["hidden_size"] == 64
    assert {one["key"] for one in result["unknown"]} == {"released", "source", "published"}
    assert result["stored"] is None
    jsonschema.validate(whole, json.loads(llmcalc("schema", "import").out))


def test_a_file_is_written_once(config: str, catalog: Path, llmcalc: Llmcalc) -> None:
    target = str(catalog / "mine.yaml")
    first = llmcalc("import", config, "-o", target)
    assert (first.code, first.out) == (0, f"{target}\n")
    again = llmcalc("import", config, "-o", target)
    assert (again.code, again.out) == (2, "")
    assert again.err.splitlines() == [
        f"error: {target} exists already", "hint: --force replaces it",
    ]  # fmt: skip
    assert llmcalc("import", config, "-o", target, "--force").code == 0


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("import", 2, "missing argument 'SOURCE'"),
        ("import nowhere.gguf", 3, "no file at nowhere.gguf"),
        ("import llama2-7b", 3, "llama2-7b is in the catalog already"),
        ("import some-org/some-model", 3, "no file at some-org/some-model"),
        ("params some-org/unheard-of", 3, "no model named some-org/unheard-of"),
    ],
)
def test_a_line_that_cannot_be_answered(line: str, code: int, says: str, llmcalc: Llmcalc) -> None:
    run = llmcalc(*line.split())
    error, hint = run.err.splitlines()
    assert (run.code, run.out) == (code, "")
    assert error.startswith(f"error: {says}")
    assert hint.startswith("hint: ")
