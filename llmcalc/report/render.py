"""A report in the form asked for."""

from __future__ import annotations

from typing import Literal

from llmcalc.report.model import Report
from llmcalc.report.page import Page, Units

Form = Literal["text", "json", "csv", "markdown"]


def render(
    report: Report,
    form: Form = "text",
    *,
    units: Units = "gib",
    width: int | None = None,
    terminal: bool = False,
    colour: bool = False,
) -> str:
    """The whole answer as text that ends with a newline; `width` None sets no limit."""
    page = Page(units=units, width=width, terminal=terminal, colour=colour)
    match form:
        case "json":
            from llmcalc.report.asjson import asjson  # noqa: PLC0415  (each form loads only itself)

            return asjson(report)
        case "csv" | "markdown":
            from llmcalc.report import tabular  # noqa: PLC0415

            return tabular.csv(report) if form == "csv" else tabular.markdown(report, page)
        case "text":
            from llmcalc.report.text import text  # noqa: PLC0415

            return text(report, page)
