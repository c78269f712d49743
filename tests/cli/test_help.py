"""Every command explains itself on 80 columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from llmcalc.cli.group import COMMANDS, NAMES

Llmcalc = Callable[..., Any]

SHARED = [
    "--json",
    "--csv",
    "--markdown",
    "--explain",
    "--units",
    "--no-color",
    "--debug",
    "--help",
]


@pytest.mark.parametrize("line", ["", "--help"])
def test_the_program_lists_its_commands_with_one_line_each(line: str, llmcalc: Llmcalc) -> None:
    run = llmcalc(*line.split())
    assert (run.code, run.err) == (0, "")
    for heading, names in COMMANDS.items():
        assert f"\n{heading}:\n" in run.out
        for name in names:
            assert re.search(rf"^  {name} +\w", run.out, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_a_command_has_help_examples_and_the_shared_options(name: str, llmcalc: Llmcalc) -> None:
    run = llmcalc(name, "--help")
    assert (run.code, run.err) == (0, "")
    assert max(map(len, run.out.splitlines())) <= 80
    assert not re.search(r"[\u2500-\u257f\u001b…]", run.out)
    summary, examples = run.out.split("\n\n")[1], run.out.split("Examples:\n")[1]
    assert summary.strip()[0].isupper()
    assert f"  llmcalc {name}" in examples
    assert all(option in run.out for option in SHARED)


@pytest.mark.parametrize("name", NAMES)
def test_every_option_says_what_it_does(name: str, llmcalc: Llmcalc) -> None:
    text = llmcalc(name, "--help").out.split("Examples:\n")[0]
    described = re.findall(r"^  -\S.*$(?:\n {10,}\S.*$)*", text, re.MULTILINE)
    assert described
    for option in described:
        assert re.search(r"(  |\n) *\w.*\w\.", option, re.DOTALL), option


@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name: str, llmcalc: Llmcalc) -> None:
    for line in llmcalc(name, "--help").out.split("Examples:\n")[1].splitlines():
        assert llmcalc(*line.split(" > ")[0].split()[1:], "--help").code == 0
