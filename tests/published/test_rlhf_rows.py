"""Public runs of reinforcement learning: what docs/rlhf.md says of each is what comes out."""

from __future__ import annotations

from tests.published.rlhf_page import PAGE, current, reported
from tests.published.rlhf_runs import HOURS, MEMORY, OUTCOMES


def test_the_page_is_current() -> None:
    """`python tools/rlhf_page.py` writes it."""
    text = PAGE.read_text(encoding="utf-8")
    assert text == current(text)


def test_every_row_is_scored_or_said_to_be_left_out() -> None:
    text = PAGE.read_text(encoding="utf-8")
    scored = {*MEMORY, *OUTCOMES, *HOURS}
    left = {row for row in reported() if f"`{row}`" in text}
    assert scored.isdisjoint(left)
    assert scored | left == set(reported())
