"""The answer of `check` for other programs: GitHub's annotations and JUnit's XML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from llmcalc.api import check_tables
from llmcalc.report.model import Report
from llmcalc.report.numbers import clean

if TYPE_CHECKING:
    from llmcalc.api.check import CheckItem, CheckResult, Format


def as_document(report: Report, format: Format) -> Report:
    """The report with its text in that format and nothing beside it."""
    if format == "text":
        return report
    if format == "json":
        from llmcalc.report.asjson import asjson  # noqa: PLC0415  (only this format needs it)

        text = asjson(report)
    else:
        text = github(report.results) if format == "github" else junit(report.results)
    return replace(report, tables=(), assumptions=(), steps=(), text=text.rstrip("\n"))


def github(results: Sequence[CheckResult]) -> str:
    """An `::error` with file and line for every difference, which GitHub shows at that line."""
    lines = [
        f"::error {_properties(one, item)}::{_escaped(told(item))}"
        for one in results
        for item in one.checks
        if not item.ok
    ]
    return "\n".join([*lines, check_tables.counted(results)])


def junit(results: Sequence[CheckResult]) -> str:
    """A test suite with a case for every comparison."""
    from xml.etree import ElementTree as ET  # noqa: PLC0415  (writes only; the usual name)

    items = [(one, item) for one in results for item in one.checks]
    counts = {"tests": str(len(items)), "failures": str(sum(not item.ok for _, item in items))}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": "llmcalc check", **counts})
    for one, item in items:
        case = ET.SubElement(suite, "testcase", {"classname": clean(one.card), "name": item.name})
        if one.file:
            case.set("file", clean(one.file))
        if not item.ok:
            case.set("line", str(item.line))
            failure = ET.SubElement(case, "failure", {"message": clean(told(item))})
            failure.text = clean(f"{check_tables.place(one, item.line)}: {told(item)}")
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(suites, encoding="unicode")}'


def told(item: CheckItem) -> str:
    """One difference in a sentence."""
    if item.expected is None or item.got is None or item.name == "schema":
        return f"{item.name}: {item.hint}"
    difference = item.got - item.expected
    numbers = f"expected {item.expected:,}, got {item.got:,} ({difference:+,})"
    return f"{item.name}: {numbers}; {item.hint}" if item.hint else f"{item.name}: {numbers}"


def _properties(one: CheckResult, item: CheckItem) -> str:
    given = {"file": one.file, "line": item.line or None, "title": f"llmcalc check {one.card}"}
    return ",".join(
        f"{key}={_escaped(str(value)).replace(':', '%3A').replace(',', '%2C')}"
        for key, value in given.items()
        if value is not None and not (key == "line" and one.file is None)
    )


def _escaped(text: str) -> str:
    """Text that cannot end its line or start another command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
