"""`llmcalc validate` as a script and a reader meet it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from llmcalc.checks.measured.reading import shipped

Llmcalc = Callable[..., Any]
VLLM = next(path for path in shipped() if Path(path).stem == "vllm")


@pytest.fixture
def few(tmp_path: Path) -> str:
    """The first rows of a shipped file."""
    lines = Path(VLLM).read_text(encoding="utf-8").splitlines()[:12]
    path = tmp_path / "few.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_the_answer_follows_its_schema(few: str, llmcalc: Llmcalc) -> None:
    schema = json.loads(llmcalc("schema", "validate").out)
    for more in ([], ["--rows"], ["--explain"]):
        run = llmcalc("validate", "--data", few, "--json", *more)
        assert run.code == 0
        Draft202012Validator(schema).validate(json.loads(run.out))


def test_same_input_gives_the_same_bytes(few: str, llmcalc: Llmcalc) -> None:
    line = ("validate", "--data", few, "--json", "--rows")
    assert llmcalc(*line).out == llmcalc(*line).out


@pytest.mark.parametrize("width", ["40", "80", "120"])
def test_no_line_is_wider_than_the_screen_and_no_figure_cut(
    width: str, few: str, llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    run = llmcalc("validate", "--data", few)
    assert run.code == 0
    assert max(map(len, run.out.splitlines())) <= int(width)
    assert "…" not in run.out


def test_tables_name_groups_worst_rows_and_reasons(few: str, llmcalc: Llmcalc) -> None:
    out = llmcalc("validate", "--data", few).out
    for title in ("error of the predictions", "worst rows", "skipped"):
        assert title in out
    assert "the model was inferred from the measured numbers" in out
    assert out.splitlines()[-1].startswith("assumes: ")


def test_rows_are_a_table_for_spreadsheets(few: str, llmcalc: Llmcalc) -> None:
    out = llmcalc("validate", "--data", few, "--rows", "--csv").out
    last = out.split("\n\n")[-1].splitlines()
    rows = list(csv.DictReader(last))
    assert {"row_id", "predicted", "measured", "error", "skipped_because"} <= set(rows[0])
    assert {"v001", "v004"} <= {row["row_id"] for row in rows}


def test_several_files_are_one_answer(few: str, llmcalc: Llmcalc) -> None:
    one = json.loads(llmcalc("validate", "--data", few, "--json").out)["results"]
    two = json.loads(llmcalc("validate", "--data", few, "--data", few, "--json").out)["results"]
    assert [2 * each["skipped"] for each in one] == [each["skipped"] for each in two]


@pytest.mark.parametrize(
    ("text", "error", "hint"),
    [
        ("", "is empty", "vllm ("),
        ("a,b\n1,2\n", "no known header of measurements", "llamacpp ("),
        ("model\tn_ctx\tftype\n", "no known header", "shipped files"),
    ],
)
def test_a_file_of_another_form_ends_in_one_error_and_code_4(
    text: str, error: str, hint: str, tmp_path: Path, llmcalc: Llmcalc
) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(text, encoding="utf-8")
    run = llmcalc("validate", "--data", str(path))
    assert (run.code, run.out) == (4, "")
    first, second = run.err.splitlines()
    assert first.startswith("error: ")
    assert error in first
    assert second.startswith("hint: ")
    assert hint in second


def test_no_file_ends_in_code_3(tmp_path: Path, llmcalc: Llmcalc) -> None:
    assert llmcalc("validate", "--data", str(tmp_path / "none.tsv")).code == 3
