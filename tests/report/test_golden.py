"""How reports look, to the character."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from llmcalc.formula import Step
from llmcalc.report.model import Report
from llmcalc.report.render import Form, render

Golden = Callable[[str, str], None]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_screen_shows_every_figure_at_any_width(
    width: int, fit_report: Report, golden: Golden
) -> None:
    text = render(fit_report, width=width, terminal=True)
    assert max(map(len, text.splitlines())) <= width
    golden(f"fit-{width}.txt", text)


def test_a_pipe_gets_one_line_a_row_and_no_rule(fit_report: Report, golden: Golden) -> None:
    golden("fit-piped.txt", render(fit_report))


def test_a_screen_with_colour_marks_title_header_and_verdicts(
    fit_report: Report, golden: Golden
) -> None:
    golden("fit-colour.txt", render(fit_report, width=120, terminal=True, colour=True))


@pytest.mark.parametrize(("form", "suffix"), [("csv", "csv"), ("markdown", "md")])
def test_forms_for_other_programs(
    form: Form, suffix: str, fit_report: Report, golden: Golden
) -> None:
    golden(f"fit.{suffix}", render(fit_report, form))


@pytest.mark.parametrize("width", [40, 80])
def test_a_worked_solution_reads_like_paper(
    width: int, fit_report: Report, steps: tuple[Step, ...], golden: Golden
) -> None:
    text = render(replace(fit_report, tables=(), steps=steps), width=width)
    assert max(map(len, text.splitlines())) <= width
    golden(f"explain-{width}.txt", text)
