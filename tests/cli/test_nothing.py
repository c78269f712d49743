"""A choice of models that nothing passes: an answer with no row, and a word of why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

LINES = [
    (
        "fit --gpu h100 --family quen",
        "no model matches: no family is named quen; did you mean qwen?",
    ),
    (
        "fit --gpu h100 --name lamma3-8b",
        "no model matches: no model is named lamma3-8b; did you mean llama3-8b?",
    ),
    ("fit --gpu h100 --train lora --family quen", "no model matches: no family is named quen"),
    ("models --family quen", "no model matches: no family is named quen; did you mean qwen?"),
    ("models lamma3-8b", "no model matches: no model is named lamma3-8b; did you mean llama3-8b?"),
    ("models --family zzzzzzzz", "no model matches: no family is named zzzzzzzz"),
    ("models --family qwen --max-params 0", "no model matches"),
]


@pytest.mark.parametrize(("line", "warning"), LINES, ids=[line for line, _ in LINES])
def test_a_choice_that_nothing_passes_says_so(
    line: str, warning: str, llmcalc: Callable[..., Any]
) -> None:
    run = llmcalc(*line.split())
    assert run.code == 0
    assert run.err.startswith(f"warning: {warning}")
    assert run.err.count("\n") == 1
