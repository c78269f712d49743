"""Numbers as people read them."""

from __future__ import annotations

import pytest

from llmcalc.report.model import Column, Unit, Value
from llmcalc.report.numbers import clean, heading, shown
from llmcalc.report.page import Units


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "count", "-"),
        (True, "text", "yes"),
        (0, "bytes", "0.00"),
        (2**30, "bytes", "1.00"),
        (1536 * 2**30, "bytes", "1,536.00"),
        (-(2**29), "bytes", "-0.50"),
        (4_509_715, "bytes", "0.0042"),
        (70_272, "bytes", "0.00006545"),
        (671_026_404_352, "count", "671,026,404,352"),
        (108_250_355_728_384, "flop", "108,250,355,728,384"),
        (10**18 + 1, "count", "1,000,000,000,000,000,001"),
        (2.5, "count", "2.5"),
        (3.0, "count", "3"),
        (0.98432, "ratio", "0.984"),
        (12.345, "ratio", "12.3"),
        (12345.6, "ratio", "12,346"),
        (0.1234, "percent", "12.3%"),
        (1.5, "usd", "1.50"),
        (0.00123456, "usd", "0.001235"),
        (0.0123456, "seconds", "0.01235"),
        (86400.0, "seconds", "86,400"),
        (3350, "rate", "3,350"),
        (989.4, "rate", "989.4"),
        (2306.9, "rate", "2,306.9"),
        (0, "rate", "0"),
    ],
)
def test_a_value_in_its_unit(value: Value, unit: Unit, text: str) -> None:
    assert shown(value, unit) == text


@pytest.mark.parametrize(
    ("units", "text", "title"),
    [
        ("gib", "80.00", "free GiB"),
        ("gb", "85.90", "free GB"),
        ("bytes", "85,899,345,920", "free bytes"),
    ],
)
def test_memory_is_shown_in_the_unit_asked_for(units: Units, text: str, title: str) -> None:
    assert shown(80 * 2**30, "bytes", units) == text
    assert heading(Column(key="free", title="free", unit="bytes"), units) == title


def test_a_title_without_memory_stays_as_it_is() -> None:
    assert heading(Column(key="batch", title="max batch", unit="count"), "gib") == "max batch"


def test_text_of_a_file_cannot_steer_a_terminal() -> None:
    assert clean("\x1b[31mred\x07\r\nnext\u202e") == "[31mred next"
