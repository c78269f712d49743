"""Pages that a tool writes are those that it would write now."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("tool", "target"),
    [
        ("catalog_page", "catalog.md"),
        ("reference", "reference.md"),
        ("accuracy", "accuracy.md"),
        ("folklore", "folklore.md"),
    ],
)
def test_pages_are_current(tool: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page in docs/ is what its tool writes, to the character."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("LLMCALC_CARDS", raising=False)
    monkeypatch.delenv("LLMCALC_GPUS", raising=False)
    module = _tool(tool)
    written = (ROOT / "docs" / target).read_text(encoding="utf-8")
    assert module.page() == written, f"run python tools/{tool}.py"


def test_error_bands_are_current() -> None:
    """The bands beside modelled numbers are those that the measurements give now."""
    written = (ROOT / "llmcalc" / "measurements" / "accuracy.json").read_text(encoding="utf-8")
    assert _tool("accuracy").bands() == written, "run python tools/accuracy.py"


def _tool(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
