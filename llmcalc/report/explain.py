"""The worked solution: each step as a formula, with its numbers put in, and its result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from llmcalc.formula import Step
from llmcalc.report.model import Column, Table, Value
from llmcalc.report.numbers import BYTES, clean, significant, size, whole
from llmcalc.report.page import Page, Units

LONGEST_NAME = 26
"""A longer name stands on a line of its own, so that formulas keep most of the width."""

_BREAKS = (r" (?=[=≈] )", r" (?=[+−-] )", r" (?=[·×*/] )")
"""Where a formula may go on below, the best place first."""

_COLUMNS = tuple(
    Column(key=key, title=key)
    for key in ("name", "text", "substituted", "result", "unit", "basis", "source", "note")
)


def lines(steps: Iterable[Step], page: Page) -> list[str]:
    """The steps in order, a blank line between them; a step that repeats is told once."""
    found: list[str] = []
    for step in unique(steps):
        found += [""] if found else []
        found += _step(step, page)
    return found


def unique(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps without repeats of the same name, formula and numbers."""
    return tuple(
        {(step.name, step.text, step.substituted, step.result): step for step in steps}.values()
    )


def table(steps: Iterable[Step]) -> Table:
    """The steps as a table, for CSV."""
    return Table(
        columns=_COLUMNS,
        rows=tuple(tuple(values(step).values()) for step in unique(steps)),
    )


def values(step: Step) -> dict[str, Value]:
    """What a step says, for JSON and CSV."""
    return {
        "name": step.name,
        "text": step.text,
        "substituted": step.substituted,
        "result": step.result,
        "unit": step.unit,
        "basis": step.basis,
        "source": step.source,
        "note": step.note,
    }


def _step(step: Step, page: Page) -> list[str]:
    name, width = clean(step.name), page.width or 80
    own_line = len(name) > LONGEST_NAME or len(name) > width // 3
    indent = " " * (2 if own_line else len(name) + 1)
    block = [line for side in _sides(step, page.units) for line in _equation(side, indent, width)]
    bold = page.styled(name, "bold")
    # The first sign stands right after the name, the others below it.
    top = [bold, *block] if own_line else [bold + block[0][len(name) :], *block[1:]]
    remark = "; ".join(filter(None, map(clean, (step.basis, step.source, step.note))))
    folded = Page(width=width).wrapped(remark, first=f"{indent}  ", then=f"{indent}  ")
    return [*top, *(page.styled(line, "dim") for line in folded)]


def _sides(step: Step, units: Units) -> list[str]:
    """Formula, numbers and result, each behind its sign; what says nothing new is left out."""
    result = _result(step, units)
    numbers = f"= {step.substituted}"
    known = {f"= {step.text}", result, f"= {whole(step.result)}"}
    return [f"= {step.text}", *([] if numbers in known else [numbers]), result]


def _result(step: Step, units: Units) -> str:
    """The result with its unit, a large size also in that of the page; `≈` where it is rounded."""
    value = step.result
    text = whole(value) if value == int(value) else significant(value, 6)
    sign = "=" if value == float(text.replace(",", "")) else "≈"
    divisor, name = BYTES[units]
    also = ""
    if step.unit == "bytes" and divisor > 1 and abs(value) >= divisor / 100:
        also = f" {'≈' if 100 * value % divisor else '='} {size(value, units)} {name}"
    return f"{sign} {text} {step.unit}".rstrip() + also


def _equation(side: str, indent: str, width: int) -> list[str]:
    """One side, broken before a sign where it is too long; what goes on below is indented."""
    room = max(width - len(indent) - 2, 16)
    sign, _, terms = clean(side).partition(" ")
    first, *rest = _filled(terms, room, _BREAKS)
    return [f"{indent}{sign} {first}", *(f"{indent}  {line}" for line in rest)]


def _filled(text: str, room: int, breaks: Sequence[str]) -> list[str]:
    """Lines of at most `room`: broken at the first kind of break, a long piece at the next."""
    if len(text) <= room or not breaks:
        return [text]
    done: list[str] = []
    for piece in re.split(breaks[0], text):
        if done and len(done[-1]) + 1 + len(piece) <= room:
            done[-1] += f" {piece}"
        else:
            done += _filled(piece, room, breaks[1:])
    return done
