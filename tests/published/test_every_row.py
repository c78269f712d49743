"""Every row of the worked examples is tested."""

from __future__ import annotations

from pathlib import Path


def test_every_worked_example_is_asserted(
    worked: dict[str, dict[str, str]],
) -> None:
    here = Path(__file__).parent
    texts = "".join(path.read_text(encoding="utf-8") for path in here.glob("test_worked_*.py"))
    tested = {row for row in worked if f'"{row}"' in texts}
    dimensions = {"d09"}  # asserted by its dimensions, the row has no value of its own
    assert tested | dimensions == set(worked)
