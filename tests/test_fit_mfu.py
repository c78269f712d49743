"""What training reaches is what tools/fit_mfu.py finds on the measurements."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from types import ModuleType

import pytest

from llmcalc.catalog.rates import utilisation

ROOT = pathlib.Path(__file__).parents[1]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The script."""
    spec = importlib.util.spec_from_file_location("fit_mfu", ROOT / "tools" / "fit_mfu.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["fit_mfu"] = module
    spec.loader.exec_module(module)
    return module


def test_the_file_is_what_the_tool_writes(tool: ModuleType) -> None:
    """Its reports follow from the rows; the search itself takes minutes."""
    file = utilisation()
    text = (ROOT / "llmcalc" / "utilisation" / "training.yaml").read_text("utf-8")
    assert tool.written(tool.reported(tool.rows(), file)) == text, "run python tools/fit_mfu.py"


def test_no_constant_does_better_a_little_to_either_side(tool: ModuleType) -> None:
    """The search has ended in a hollow: a tenth more or less of a constant gains at most 1 %."""
    every, file = tool.rows(), utilisation()
    known = tool.constants(file)
    assert tool.built(known).classes[0].matmul == file.classes[0].matmul
    weigh = tool._weights(every)
    least = tool._loss(every, weigh, known)
    for name in known:
        for factor in (0.9, 1.1):
            _, low, high = tool.bounds()[name]
            moved = known | {name: min(high, max(low, known[name] * factor))}
            assert tool._loss(every, weigh, moved) > 0.99 * least, name
