"""What every command can do with its answer: the shared options, and the printing."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from llmcalc.errors import UsageError
from llmcalc.report.model import Report
from llmcalc.report.numbers import clean
from llmcalc.report.page import Units
from llmcalc.report.render import Form, render

PANEL = "Output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The options that `command` appends to every command, by field."""

    as_json: Annotated[
        bool,
        Option(
            "--json", help="One JSON object; plain values in base units.", rich_help_panel=PANEL
        ),
    ] = False
    as_csv: Annotated[
        bool, Option("--csv", help="CSV with raw values in base units.", rich_help_panel=PANEL)
    ] = False
    as_markdown: Annotated[
        bool, Option("--markdown", help="A Markdown table.", rich_help_panel=PANEL)
    ] = False
    explain: Annotated[
        bool,
        Option("--explain", help="Add the worked solution of each number.", rich_help_panel=PANEL),
    ] = False
    units: Annotated[
        Units,
        Option("--units", help="How memory is shown.", case_sensitive=False, rich_help_panel=PANEL),
    ] = "gib"
    no_color: Annotated[
        bool,
        Option(
            "--no-color", help="No colour, as NO_COLOR=1 in the environment.", rich_help_panel=PANEL
        ),
    ] = False
    debug: Annotated[
        bool, Option("--debug", help="Show the traceback of an error.", rich_help_panel=PANEL)
    ] = False

    @property
    def form(self) -> Form:
        """The one form asked for; raises UsageError for more than one."""
        chosen: dict[Form, bool] = {
            "json": self.as_json,
            "csv": self.as_csv,
            "markdown": self.as_markdown,
        }
        asked = [form for form, wanted in chosen.items() if wanted]
        if len(asked) > 1:
            names = " and ".join(f"--{form}" for form in asked)
            raise UsageError(f"{names} exclude each other", hint="ask for one form at a time")
        return asked[0] if asked else "text"


def emit(report: Report, output: Output) -> int:
    """Print the answer on stdout and its warnings on stderr; the exit code of the report."""
    smart = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    text = render(
        report,
        output.form,
        units=output.units,
        width=_width(),
        terminal=smart,
        colour=smart and not output.no_color and not os.environ.get("NO_COLOR"),
    )
    for warning in report.warnings:
        print(f"warning: {clean(warning)}", file=sys.stderr)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        leave_pipe()
    return report.exit_code


def leave_pipe() -> None:
    """Let the rest go nowhere: `| head` has what it wanted, and Python flushes once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _width() -> int | None:
    """Columns of the screen, or of COLUMNS; a pipe has no width, so that a row stays a line."""
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) else None
