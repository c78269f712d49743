"""A report for people: on a screen or through a pipe."""

from __future__ import annotations

from llmcalc.report import layout
from llmcalc.report.model import Report
from llmcalc.report.numbers import clean
from llmcalc.report.page import Page


def text(report: Report, page: Page) -> str:
    """Tables, the worked solution if there is one, and the assumptions on the last line."""
    blocks = [layout.lines(table, page) for table in report.tables]
    if report.text:
        blocks.append(report.text.rstrip("\n").split("\n"))
    if report.steps:
        from llmcalc.report import explain  # noqa: PLC0415  (only under --explain)

        blocks.append(
            [page.styled("worked solution", "bold"), "", *explain.lines(report.steps, page)]
        )
    if report.assumptions:
        blocks.append(page.wrapped(assumed(report), then="  "))
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def assumed(report: Report) -> str:
    """All assumptions on one line."""
    return f"assumes: {'; '.join(map(clean, report.assumptions))}"
