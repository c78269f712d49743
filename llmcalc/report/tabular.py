"""Tables for other programs: CSV for spreadsheets and scripts, Markdown for pages and issues."""

from __future__ import annotations

from llmcalc.report import explain
from llmcalc.report.model import Report, Table, Value
from llmcalc.report.numbers import clean, heading, shown
from llmcalc.report.page import Page
from llmcalc.report.text import assumed

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet run a cell."""


def csv(report: Report) -> str:
    """RFC 4180: keys as header, raw values in base units; a blank line between tables."""
    import csv as writer_of  # noqa: PLC0415  (only this form needs it)
    from io import StringIO  # noqa: PLC0415

    tables = [*report.tables, *([explain.table(report.steps)] if report.steps else [])]
    out = StringIO(newline="")
    writer = writer_of.writer(out, lineterminator="\n")
    for number, table in enumerate(tables):
        out.write("\n" if number else "")
        writer.writerow([column.key for column in table.columns])
        writer.writerows([[_raw(value) for value in row] for row in table.rows])
    return out.getvalue()


def markdown(report: Report, page: Page) -> str:
    """Tables as GitHub shows them, numbers to the right; assumptions as the last line."""
    blocks = [_markdown(table, page) for table in report.tables]
    if report.text:
        blocks.append(_fenced(report.text))
    if report.steps:
        blocks.append(_fenced("\n".join(explain.lines(report.steps, Page(units=page.units)))))
    if report.assumptions:
        blocks.append(_escaped(assumed(report)))
    return "\n\n".join(blocks) + "\n"


def _raw(value: Value) -> Value:
    """A cell that means the same to a spreadsheet as to us."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return value


def _markdown(table: Table, page: Page) -> str:
    head = [_escaped(heading(column, page.units)) for column in table.columns]
    rule = ["---" if column.unit == "text" else "---:" for column in table.columns]
    rows = [
        [
            _escaped(shown(value, column.unit, page.units))
            for value, column in zip(row, table.columns, strict=True)
        ]
        for row in table.rows
    ]
    title = [f"### {_escaped(clean(table.title))}", ""] if table.title else []
    note = ["", _escaped(clean(table.note))] if table.note else []
    return "\n".join([*title, *(f"| {' | '.join(row)} |" for row in [head, rule, *rows]), *note])


def _escaped(text: str) -> str:
    """Text that cannot end a cell, start a tag or turn into emphasis."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _fenced(text: str) -> str:
    """A block that shows as it is; the fence is longer than any inside."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}"
