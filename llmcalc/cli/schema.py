"""`llmcalc schema`."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from llmcalc.cli.command import command
from llmcalc.report.model import Report


@command(
    "llmcalc schema",
    "llmcalc schema card > card.schema.json",
    "llmcalc schema fit",
)
def schema(
    name: Annotated[
        str | None,
        Argument(metavar="NAME", help="card, gpu, or a command; left out: list what there is."),
    ] = None,
) -> Report:
    """Print the JSON Schema of a file or of a command's --json output."""
    from llmcalc.api.schema import schema as answer  # noqa: PLC0415  (start-up)

    return answer(name)
