"""`llmcalc check`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmcalc.api.check import Format
from llmcalc.cli.command import command
from llmcalc.cli.complete import model_names
from llmcalc.errors import UsageError
from llmcalc.report.model import Report


@command(
    "llmcalc check",
    "llmcalc check deepseek-v3 llama2-7b",
    "llmcalc check my_cards/ --format github",
    "llmcalc check path/to/config.json --json",
)
def check(
    context: typer.Context,
    card: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CARD]...",
            help="Names, cards or folders; left out: the catalog.",
            autocompletion=model_names,
        ),
    ] = None,
    *,
    format: Annotated[
        Format,
        typer.Option(help="For people, scripts, GitHub's annotations or JUnit."),
    ] = "text",
) -> Report:
    """Prove a card: published count, and every number against a torch model without data."""
    from llmcalc.api.check import check as answer  # noqa: PLC0415  (commands load when called)
    from llmcalc.api.check_formats import as_document  # noqa: PLC0415
    from llmcalc.cli.progress import Progress  # noqa: PLC0415

    _one_form(context, format)
    return as_document(answer(card or (), Progress()), format)


def _one_form(context: typer.Context, format: Format) -> None:
    """Refuse --format beside another form, before minutes of work."""
    forms = [one for one in ("json", "csv", "markdown") if context.params.get(f"as_{one}")]
    if format != "text" and forms and forms != [format]:
        raise UsageError(
            f"--format {format} and --{forms[0]} exclude each other", hint="ask for one form"
        )
