"""The entry point: one `try` around everything."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from llmcalc import __version__
from llmcalc.cli.failure import failed
from llmcalc.cli.group import Commands

app = typer.Typer(
    name="llmcalc",
    cls=Commands,
    help="How big is this model, what does it cost to run or train, and does it fit?",
    epilog="llmcalc fit --gpu a100-80 --batch 16\nllmcalc params llama2-7b --explain",
    rich_markup_mode=None,
    invoke_without_command=True,
)


@app.callback()
def llmcalc(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Answer what belongs to no command."""
    if version:
        print(f"llmcalc {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; what goes wrong is told on stderr."""
    line = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = typer.main.get_command(app).main(line, prog_name="llmcalc", standalone_mode=False)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (the one place that catches all)
        return failed(error, debug="--debug" in line)
    return int(code or 0)
