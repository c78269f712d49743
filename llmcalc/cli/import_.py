"""`llmcalc import`."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from llmcalc.cli.command import command
from llmcalc.cli.options import Online
from llmcalc.report.model import Report


@command(
    "llmcalc import path/to/config.json > mine.yaml",
    "llmcalc import path/to/model.safetensors -o mine.yaml",
    "llmcalc import path/to/model.gguf",
    "llmcalc import org/name --online -o mine.yaml",
)
def import_(
    source: Annotated[
        str,
        Argument(
            metavar="SOURCE",
            help="config.json, its folder, .safetensors, its index, .gguf or hub id.",
        ),
    ],
    *,
    output: Annotated[
        str | None,
        Option("--output", "-o", metavar="FILE", help="Write the card to this file."),
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace a file that exists.")] = False,
    told: Annotated[
        str | None,
        Option("--source", metavar="TEXT", help="Where it is from, for the card's source."),
    ] = None,
    online: Online = False,
) -> Report:
    """Make a card from a config.json, a checkpoint's header or a hub id."""
    from llmcalc.api.import_ import import_ as answer  # noqa: PLC0415  (commands load when called)

    return answer(source, online=online, told=told, output=output, force=force)
