"""docs/rlhf.md with what comes out today in the tables of public runs."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path
from statistics import median

from tests.api.rlhf_asked import GIB, run
from tests.published.rlhf_runs import HOURS, MEMORY, OUTCOMES, hours

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "rlhf.md"
VERDICTS = {"fits": "fits", "tight": "tight", "no": "does not fit"}
OUTCOME = {"OOM": "out of memory", "ok": "ran"}


@cache
def reported() -> dict[str, dict[str, str]]:
    """The public rows, by id."""
    with (ROOT / "tests" / "data" / "rlhf.tsv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file, delimiter="\t")}


def hours_of(row: str) -> float:
    """That a row says its epoch took."""
    return float(re.findall(r"total ([0-9.]+) h", reported()[row]["step_s"])[0])


def current(text: str) -> str:
    """The page with figures of today; what each run was and why stays as written."""
    for row in MEMORY:
        ours, said = run(**MEMORY[row]).totals["train"] / GIB, reported()[row]["mem_gib_low"]
        text = _with(text, row, f"{float(said):.1f}", f"{ours:.1f}", _error(ours, float(said)))
    for row in OUTCOMES:
        text = _with(text, row, OUTCOME[reported()[row]["outcome"]], _verdict(row), None)
    errors = []
    for row in HOURS:
        took, said_hours = hours(*HOURS[row]), hours_of(row)
        if took is None:
            text = _with(text, row, f"{said_hours:g}", "does not fit", "-")
        else:
            errors.append(100 * (took / said_hours - 1))
            text = _with(text, row, f"{said_hours:g}", f"{took:.2g}", _error(took, said_hours))
    return re.sub(r"median -?[0-9]+ %", f"median {median(errors):.0f} %", text)


def _verdict(row: str) -> str:
    """Whether it fits, and the fullest phase but that of the engine, which takes what is left."""
    found = run(**OUTCOMES[row])
    peak = max(size for name, size in found.totals.items() if name != "rollout")
    of = f"{peak / GIB:.0f} of {(found.capacity or 0) / GIB:.0f} GiB"
    return f"{VERDICTS[found.verdict or '']}, {of}"


def _error(ours: float, said: float) -> str:
    return f"{100 * (ours / said - 1):.0f} %"


def _with(text: str, row: str, said: str, ours: str, last: str | None) -> str:
    """The line of a row with its figures; `last` None leaves the last cell."""
    found = re.search(rf"^\| {row} \| (.*?) \|.*\| (.*?) \|$", text, flags=re.MULTILINE)
    assert found, f"{row} is not on the page"
    line = f"| {row} | {found[1]} | {said} | {ours} | {found[2] if last is None else last} |"
    return text.replace(found[0], line)
