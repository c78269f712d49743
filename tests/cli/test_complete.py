"""Completion in a shell."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from llmcalc.cli import complete


def test_names_and_aliases_complete() -> None:
    assert {"zz-tiny", "zz-org/Tiny"} <= set(complete.model_names("zz-"))
    assert set(complete.gpu_names("zz")) == {"zz-gpu", "zz1"}
    assert {"zz-tiny", "zz-gpu"} <= set(complete.names("zz-"))


def test_completion_never_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmcalc.catalog.find.card_names", lambda: 1 / 0)
    assert complete.model_names("ll") == []


def test_a_shell_gets_the_names() -> None:
    line = "llmcalc show zz"
    asked = {"_LLMCALC_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "2"}
    command = [sys.executable, "-m", "llmcalc"]
    run = subprocess.run(
        command, env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert "zz-tiny" in run.stdout
    assert run.stderr == ""
