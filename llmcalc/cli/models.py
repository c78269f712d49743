"""`llmcalc models`."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from llmcalc import units
from llmcalc.cli.command import command
from llmcalc.report.model import Report


@command(
    "llmcalc models",
    "llmcalc models qwen3 --max-params 10B",
    "llmcalc models --family deepseek --json",
)
def models(
    query: Annotated[
        list[str] | None,
        Argument(metavar="QUERY...", help="Words that name, family or alias must hold."),
    ] = None,
    *,
    family: Annotated[str | None, Option(help="Only this family, as llama.")] = None,
    min_params: Annotated[
        int | None, Option(parser=units.count, metavar="COUNT", help="At least so many, as 7B.")
    ] = None,
    max_params: Annotated[
        int | None, Option(parser=units.count, metavar="COUNT", help="At most so many, as 70B.")
    ] = None,
) -> Report:
    """List and search the models of the catalog."""
    from llmcalc.api.models import models as answer  # noqa: PLC0415  (start-up)

    return answer(query or (), family=family, min_params=min_params, max_params=max_params)
