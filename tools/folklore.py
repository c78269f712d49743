"""Write docs/folklore.md: the text of tools/folklore.md with the figures of llmcalc put in.

Usage: python tools/folklore.py

`{key:form}` stands for a number that the command at the end of its line gives with --json:

    {per_gpu.total:GiB}                a key of the first result, in a unit, with two decimals
    {1.total:int}                      of the second result, in full
    {capacity @ --gpu h100:GiB.1}      with more options, the last of which count; one decimal
    {timeline.*.activations:GiB}       the largest over a list
    {peak @ qwen2.5-7b:GB}             of another model, with the same options
    {a over b @ --gpu h100:.2}         a quotient; `plus` and `minus` as well
    {per_gpu.total:GiB vs 51.2}        how far off it is: `2 % below`
"""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import re
import shlex
from functools import cache
from operator import add, sub, truediv
from typing import Any

from llmcalc.cli.main import main

HERE = pathlib.Path(__file__).parent
SOURCE, TARGET = HERE / "folklore.md", HERE.parent / "docs" / "folklore.md"
COMMAND = re.compile(r"`llmcalc ([^`]+)` \|$")
FIGURE = re.compile(r"\{([^{}:]+):([^{}]+)\}")
UNITS = {
    "GB": 1e9, "GiB": 2.0**30, "TFLOP": 1e12, "B": 1e9, "days": 86_400.0, "": 1.0, "%": 0.01,
}  # fmt: skip

TOGETHER = {"over": truediv, "plus": add, "minus": sub}


def page() -> str:
    """The whole page."""
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    return "\n".join(map(filled, lines)) + "\n"


def filled(line: str) -> str:
    """A line with its figures."""
    command = COMMAND.search(line)
    if command is None:
        return line
    asked = command[1]
    return FIGURE.sub(lambda found: shown(value(found[1], asked), found[2]), line)


def value(expression: str, command: str) -> Any:
    """What a key, or two of them together, is in the answer of a command."""
    for word, together in TOGETHER.items():
        left, _, right = expression.partition(f" {word} ")
        if right:
            return together(value(left, command), value(right, command))
    key, _, more = expression.partition(" @ ")
    name, model, *options = command.split(" ")
    if more and not more.startswith("-"):
        model, _, more = more.partition(" ")
    first, *rest = key.strip().split(".")
    parts = [first, *rest] if first.isdigit() else ["0", first, *rest]
    return _at(results(" ".join([name, model, *options, more])), parts)


def _at(found: Any, parts: list[str]) -> Any:
    for number, part in enumerate(parts):
        if part == "*":
            return max(_at(one, parts[number + 1 :]) for one in found)
        found = found[int(part) if part.isdigit() else part]
    return found


@cache
def results(command: str) -> Any:
    """The results of a command line."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main([*shlex.split(command), "--json"])
    if code:
        raise SystemExit(f"llmcalc {command} ends with {code}")
    return json.loads(out.getvalue())["results"]


def shown(found: Any, form: str) -> str:
    """A value in its form."""
    form, _, told = form.partition(" vs ")
    unit, _, digits = form.partition(".")
    if form in ("int", "text"):
        return f"{found:,}" if form == "int" else str(found)
    size = found / UNITS[unit]
    if not told:
        return f"{size:,.{digits or 2}f}"
    off = 100 * (size / float(told) - 1)
    return f"{abs(off):.{digits or 0}f} % {'above' if off > 0 else 'below'}"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
