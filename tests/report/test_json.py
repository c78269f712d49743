"""JSON is plain, whole and stable."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import pytest

from llmcalc.formula import Step
from llmcalc.report.model import Report
from llmcalc.report.render import render


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A field that a keyword made end in `_`."""

    name: str
    bytes_: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A nested result."""

    model: str
    total: int
    share: float
    parts: tuple[Part, ...]
    extra: Any = None


def _report(extra: Any = None) -> Report:
    parts = (Part(name="weights", bytes_=2**53 + 1),)
    result = Result(model="gpt2 ·", total=10**18 + 1, share=0.1, parts=parts, extra=extra)
    return Report(command="memory", results=(result,), tables=())


def test_results_are_plain_values_with_nothing_rounded() -> None:
    assert json.loads(render(_report(MappingProxyType({"a": True})), "json")) == {
        "schema": "llmcalc/memory/1",
        "results": [
            {
                "model": "gpt2 ·",
                "total": 1_000_000_000_000_000_001,
                "share": 0.1,
                "parts": [{"name": "weights", "bytes": 9_007_199_254_740_993}],
                "extra": {"a": True},
            }
        ],
    }


def test_the_same_report_gives_the_same_bytes() -> None:
    text = render(_report(), "json")
    assert text == render(_report(), "json")
    assert text.startswith('{\n  "schema": "llmcalc/memory/1",\n  "results": [\n    {\n')
    assert text.endswith("}\n")


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_does_not_have_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        render(_report(number), "json")


def test_a_value_without_a_json_form_is_refused() -> None:
    with pytest.raises(TypeError, match="set has no JSON form"):
        render(_report({1}), "json")


def test_steps_stand_beside_the_results_under_explain(steps: tuple[Step, ...]) -> None:
    found = json.loads(render(replace(_report(), steps=steps), "json"))["steps"]
    assert [step["name"] for step in found] == [
        "kv_bytes_per_token",
        "layer.attention.output.weight",
        "total",
        "share",
    ]
    assert found[0] == {
        "name": "kv_bytes_per_token",
        "text": "2 · h_kv · d_k · bytes",
        "substituted": "2 · 32 · 128 · 2",
        "result": 16384,
        "unit": "bytes",
        "basis": "exact",
        "source": "Shazeer 2019",
        "note": "one layer",
    }
