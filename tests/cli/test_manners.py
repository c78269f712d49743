"""Errors, exit codes, colours and pipes, as a script may rely on them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llmcalc import __version__

Llmcalc = Callable[..., Any]


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("modles", "no such command 'modles'", "did you mean llmcalc models?"),
        ("qqqqqq", "no such command 'qqqqqq'", "llmcalc --help lists the commands"),
        ("--verison", "no such option --verison", "did you mean --version?"),
        ("models --famly x", "no such option --famly", "did you mean --family?"),
        ("models --qqqqq", "no such option --qqqqq", "llmcalc models --help shows how to call it"),
        ("models --family", "option '--family' requires an argument", "llmcalc --help"),
        ("show", "missing argument 'NAME'", "llmcalc show --help shows how to call it"),
        ("show a b", "got unexpected extra argument(s) (b)", "llmcalc show --help"),
        ("gpus --units gbb", "invalid value for '--units': 'gbb' is not one of", "--help"),
        ("gpus --min-memory 1x", "'1x' is not a size", "write it as 80GB"),
        ("gpus --json --csv", "--json and --csv exclude each other", "one form at a time"),
        ("schema modles", "no schema 'modles'", "did you mean models?"),
    ],
)
def test_a_wrong_line_ends_in_one_error_one_hint_and_code_2(
    line: str, message: str, hint: str, llmcalc: Llmcalc
) -> None:
    run = llmcalc(*line.split())
    error, advice = run.err.splitlines()
    assert run.code == 2
    assert run.out == ""
    assert error.startswith(f"error: {message}")
    assert advice.startswith("hint: ")
    assert hint in advice


@pytest.mark.parametrize(
    ("name", "hint"),
    [("zz-tiiny", "did you mean zz-tiny?"), ("zz-gqu", "did you mean zz-gpu?")],
)
def test_an_unknown_name_ends_with_code_3_and_the_nearest(
    name: str, hint: str, llmcalc: Llmcalc
) -> None:
    run = llmcalc("show", name)
    assert run.code == 3
    assert run.err == f"error: no model and no GPU named '{name}'\nhint: {hint}\n"


def test_a_broken_file_tells_each_mistake_and_ends_with_code_4(
    catalog: Path, llmcalc: Llmcalc
) -> None:
    path = catalog / "broken.yaml"
    text = (catalog / "cards" / "zz-tiny.yaml").read_text(encoding="utf-8")
    broken = text.replace("vocab_size", "vocab_sise").replace("hidden_size: 4", "hidden_size: four")
    path.write_text(broken, encoding="utf-8")
    run = llmcalc("show", str(path))
    errors = [line for line in run.err.splitlines() if line.startswith("error: ")]
    assert run.code == 4
    assert len(errors) >= 2
    assert all(f"{path.name}:" in error for error in errors)


def test_an_unexpected_error_is_one_line_without_traceback(
    llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmcalc.api.models.selected", _broken)
    run = llmcalc("models")
    assert run.code == 1
    assert run.err.startswith("error: unexpected ZeroDivisionError: on purpose\nhint: ")
    assert "--debug" in run.err
    assert "Traceback" not in run.err


def test_debug_shows_the_traceback(llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmcalc.api.models.selected", _broken)
    run = llmcalc("models", "--debug")
    assert run.code == 1
    assert run.err.startswith("Traceback")
    assert "in _broken" in run.err


def _broken(*_: object) -> tuple[()]:
    raise ZeroDivisionError("on purpose")


def test_an_interruption_ends_with_code_130(
    llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("llmcalc.api.models.selected", interrupted)
    run = llmcalc("models")
    assert (run.code, run.out, run.err.strip()) == (130, "", "")


def test_control_characters_of_the_user_do_not_reach_the_terminal(llmcalc: Llmcalc) -> None:
    assert "\x1b" not in llmcalc("\x1b[31mfit").err
    assert "\x1b" not in llmcalc("models", "--\x1b[31m").err


def test_the_version_is_printed(llmcalc: Llmcalc) -> None:
    run = llmcalc("--version")
    assert (run.code, run.out, run.err) == (0, f"llmcalc {__version__}\n", "")


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def _on_screen(monkeypatch: pytest.MonkeyPatch, llmcalc: Llmcalc, *arguments: str) -> str:
    screen = _Screen()
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "stdout", screen)
    assert llmcalc("models", "zz-tiny", *arguments).code == 0
    return screen.getvalue()


def test_a_screen_gets_rules_and_colour(llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch) -> None:
    text = _on_screen(monkeypatch, llmcalc)
    assert "\033[1m" in text
    assert "───" in text


@pytest.mark.parametrize("variable", ["NO_COLOR=1", "TERM=dumb"])
def test_the_environment_turns_colour_off(
    variable: str, llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*variable.split("=", 1))
    assert "\033" not in _on_screen(monkeypatch, llmcalc)


def test_an_option_turns_colour_off(llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\033" not in _on_screen(monkeypatch, llmcalc, "--no-color")


def test_a_pipe_gets_plain_lines(llmcalc: Llmcalc) -> None:
    text = llmcalc("models", "zz-tiny").out
    assert text.isascii()
    assert text.splitlines()[1].split() == ["zz-tiny", "zz-test", "228", "64", "2024-12"]


def test_a_narrow_screen_gets_records(llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = llmcalc("models", "zz-tiny").out.splitlines()
    assert lines[:3] == ["model: zz-tiny", "family: zz-test", "parameters: 228"]
    assert max(map(len, lines)) <= 40


@pytest.mark.parametrize("columns", ["", "0", "wide", "-3", "²"])
def test_a_senseless_width_is_no_width(
    columns: str, llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert llmcalc("models", "zz-tiny").code == 0


@pytest.mark.parametrize("line", ["schema card", "--help", "models --help"])
def test_a_reader_that_leaves_early_sees_no_traceback(line: str) -> None:
    command = [sys.executable, "-m", "llmcalc", *line.split()]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", encoding="utf-8") as closed:
        run = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert run.stderr == b""


def test_module_and_script_print_json_and_nothing_else() -> None:
    command = [sys.executable, "-m", "llmcalc", "models", "zz-tiny", "--json"]
    run = subprocess.run(command, capture_output=True, check=True)
    assert json.loads(run.stdout)["results"][0]["params"] == 228
    assert run.stderr == b""
