"""`llmcalc validate`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmcalc.cli.command import command
from llmcalc.report.model import Report


@command(
    "llmcalc validate",
    "llmcalc validate --rows --json",
    "llmcalc validate --data my_logs.tsv --data more.csv",
)
def validate(
    *,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="TSV or CSV with the columns of a shipped file; left out: those files.",
        ),
    ] = None,
    rows: Annotated[bool, typer.Option("--rows", help="Every row, and why it is skipped.")] = False,
) -> Report:
    """Score the predictions against public measurements, or against your own logs."""
    from llmcalc.api.validate import validate as answer  # noqa: PLC0415  (commands load when called)

    return answer(data or (), rows=rows)
