"""A report as one JSON object: plain values in base units, nothing rounded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from llmcalc.report import explain
from llmcalc.report.model import Report


def asjson(report: Report) -> str:
    """The object with its schema's name, the results and, under --explain, the steps.

    A field whose name ends in `_` (a Python keyword) is written without it. Raises ValueError for a
    number that is not finite, which no result may hold.
    """
    payload: dict[str, Any] = {
        "schema": f"llmcalc/{report.command}/1",
        "results": list(report.results),
    }
    if report.steps:
        payload["steps"] = [explain.values(step) for step in explain.unique(report.steps)]
    return json.dumps(payload, indent=2, ensure_ascii=False, allow_nan=False, default=plain) + "\n"


def plain(value: Any) -> Any:
    """One level of a dataclass or mapping as a dict; the encoder goes on from there."""
    if is_dataclass(value) and not isinstance(value, type):
        return {key: getattr(value, name) for name, key in _names(type(value))}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


@cache
def _names(of: type) -> tuple[tuple[str, str], ...]:
    """Field and key of each field; slots have no __dict__ to read them from."""
    return tuple((field.name, field.name.rstrip("_")) for field in fields(of))
