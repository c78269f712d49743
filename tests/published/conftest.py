"""The worked examples of introductory articles, by their id."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "data" / "worked_examples.tsv"


@pytest.fixture(scope="session")
def worked() -> dict[str, dict[str, str]]:
    """Rows of worked_examples.tsv."""
    with EXAMPLES.open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file, delimiter="\t")}
