"""docs/folklore.md answers the worked examples: their claims, their answers, the engines' figures.

The figures that llmcalc gives are put in by tools/folklore.py, and tests/published holds engines
against the worked examples; here each number that the text writes by itself must be one of theirs.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\d])")
SOURCE = (ROOT / "tools" / "folklore.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "folklore.md").read_text(encoding="utf-8")
MODEL = re.compile(r"[A-Za-z]+[\w.]*-[\w.-]+")
"""Names as Llama-3.1-8B, whose numbers are no figures."""
OWN = {
    "p07": "96 12288 50257 2048", "p08": "8", "d08": "0.5 3", "f02": "1", "f03": "2 4096",
    "f04": "6.8 4096", "mfp32": "70", "m07": "16 4096 7", "m08": "1000 25600", "m09": "51",
    "t01": "16 8", "t02": "1", "t06": "80", "t08": "2048", "t09": "16", "r01": "16",
    "r02": "80 90", "c01": "2048", "c02": "102.2", "g04": "186 6 7", "g05": "", "g06": "989 312",
}  # fmt: skip
"""Numbers of the text that the worked example of a row has not: what was asked for, bits and bytes
a number, a part of a sum, and figures of the pages that the row links to."""


class Row(NamedTuple):
    """A line of a table, in cells."""

    claim: str
    really: str
    why: str
    command: str


def _rows(page: str) -> list[Row]:
    found = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    return [Row(*cells) for cells in found if cells[0] != "articles say"]


def _examples() -> list[dict[str, str]]:
    """The worked examples, in order."""
    with (ROOT / "tests" / "data" / "worked_examples.tsv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


SHOWN = [row for row in _examples() if row["verdict"] != "right"]
PAIRS = list(zip(SHOWN, _rows(SOURCE), _rows(PAGE), strict=True))


def _numbers(text: str) -> set[float]:
    return {float(one.replace(",", "")) for one in NUMBER.findall(text)}


def test_every_claim_that_is_not_plainly_right_is_shown() -> None:
    right = len(_examples()) - len(SHOWN)
    assert f"We checked {len(_examples())} claims: {right} are plainly right" in PAGE
    assert f"the other {len(SHOWN)} are below" in PAGE


@pytest.mark.parametrize(
    ("example", "source"),
    [(example, source) for example, source, _ in PAIRS],
    ids=[example["id"] for example in SHOWN],
)
def test_numbers_of_the_text_are_those_of_the_worked_example(
    example: dict[str, str], source: Row
) -> None:
    text = re.sub(r"`[^`]*`|\{[^}]*\}|\]\([^)]*\)", "", " ".join(source[:3]))
    known = _numbers(" ".join(example.values()).replace("..", " "))
    own = _numbers(OWN.get(example["id"], ""))
    told = _numbers(MODEL.sub("", text))
    assert told <= known | own
    assert own <= told, "no number is excused that the text does not have"


@pytest.mark.parametrize(
    ("example", "page"),
    [(example, page) for example, _, page in PAIRS],
    ids=[example["id"] for example in SHOWN],
)
def test_whole_numbers_of_a_worked_example_stand_in_its_row(
    example: dict[str, str], page: Row
) -> None:
    """In full or in billions, as GB; terms of a sum and lists of what is right stand elsewhere."""
    text = " ".join(page).replace(",", "")
    if whole := re.fullmatch(r"(\d{6,})(?: B\b.*)?", example["value"]):
        billions = int(whole[1]) / 1e9
        assert any(form in text for form in (whole[1], f"{billions:.2f}", f"{billions:.1f} B"))
