"""CSV and Markdown say what the tables say."""

from __future__ import annotations

import csv
from dataclasses import replace
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.formula import Step
from llmcalc.report.model import Column, Report, Table, Value
from llmcalc.report.render import render

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1)


def _report(*rows: tuple[Value, ...], columns: int) -> Report:
    named = tuple(Column(key=f"key{n}", title=f"key {n}") for n in range(columns))
    return Report(command="fit", results=(), tables=(Table(columns=named, rows=rows),))


@given(st.lists(st.tuples(TEXTS, st.integers()), max_size=8))
def test_csv_reads_back_to_the_same_values(rows: list[tuple[str, int]]) -> None:
    text = render(_report(*rows, columns=2), "csv")
    head, *found = csv.reader(StringIO(text, newline=""))
    assert head == ["key0", "key1"]
    assert [
        (one.removeprefix("'") if one[1:2] in "=+-@\t" else one, int(n)) for one, n in found
    ] == [(one.removeprefix("'") if one[1:2] in "=+-@\t" else one, n) for one, n in rows]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"])
def test_a_text_that_a_spreadsheet_would_run_gets_an_apostrophe(text: str) -> None:
    _, (cell,) = csv.reader(StringIO(render(_report((text,), columns=1), "csv"), newline=""))
    assert cell == f"'{text}"


def test_a_negative_number_is_no_formula() -> None:
    assert (
        render(_report((-5, None, 0.5, True), columns=4), "csv").splitlines()[1] == "-5,,0.5,true"
    )


def test_csv_parts_tables_by_a_blank_line(fit_report: Report, steps: tuple[Step, ...]) -> None:
    text = render(replace(fit_report, tables=fit_report.tables * 2, steps=steps), "csv")
    first, second, third = text.split("\n\n")
    assert first == second.rstrip("\n")
    assert third.splitlines()[0] == "name,text,substituted,result,unit,basis,source,note"


def test_markdown_aligns_numbers_to_the_right_and_ends_with_assumptions(fit_report: Report) -> None:
    lines = render(fit_report, "markdown").splitlines()
    assert lines[0] == "### on one a100-80"
    assert lines[3] == "| --- | --- | ---: | ---: | ---: | ---: | --- |"
    assert lines[-1].startswith("assumes: batch 16; sequence 4,096")


def test_markdown_keeps_a_cell_in_its_column() -> None:
    row = render(_report(("a|b\nc<script>*",), columns=1), "markdown").splitlines()[-1]
    assert row == "| a\\|b c&lt;script>\\* |"


def test_markdown_fences_a_document_that_has_fences() -> None:
    text = render(Report(command="show", results=(), tables=(), text="a\n```\nb"), "markdown")
    assert text == "````\na\n```\nb\n````\n"
