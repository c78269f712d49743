"""`llmcalc show`."""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Argument, Option

from llmcalc.cli import complete
from llmcalc.cli.command import command
from llmcalc.report.model import Report


@command(
    "llmcalc show llama2-7b",
    "llmcalc show llama2-7b --stage ops",
    "llmcalc show a100-80",
)
def show(
    name: Annotated[
        str,
        Argument(
            metavar="NAME", help="A model or GPU: name, alias, path.", autocompletion=complete.names
        ),
    ],
    *,
    stage: Annotated[
        Literal["card", "ops", "gpu"] | None,
        Option(help="A model's card or its operations, or a GPU's spec."),
    ] = None,
) -> Report:
    """Show what is known of one model or GPU."""
    from llmcalc.api.show import show as answer  # noqa: PLC0415  (start-up)

    return answer(name, stage=stage)
