"""What a user reads when something went wrong: an `error:` line, a `hint:`, an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from llmcalc.errors import InvalidFileError, LlmcalcError, Problem, UsageError
from llmcalc.report.numbers import clean

INTERRUPTED = 130


def failed(error: BaseException, *, debug: bool) -> int:
    """Tell the error on stderr; the exit code that goes with it."""
    if debug:
        import traceback  # noqa: PLC0415  (only on request)

        traceback.print_exception(error)
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return INTERRUPTED
    problems, code = _told(error)
    for problem in problems:
        print(f"error: {clean(problem.message)}", file=sys.stderr)
        if problem.hint:
            print(f"hint: {clean(problem.hint)}", file=sys.stderr)
    return code


def _told(error: BaseException) -> tuple[Sequence[Problem], int]:
    match error:
        case InvalidFileError():
            return error.problems, error.exit_code
        case LlmcalcError():
            return (Problem(error.message, error.hint),), error.exit_code
        case typer.TyperException():
            return (_usage(error),), UsageError.exit_code
        case _:
            what = f"unexpected {type(error).__name__}: {error}"
            hint = "run it again with --debug to see where, and report it with that traceback"
            return (Problem(what.removesuffix(": "), hint),), LlmcalcError.exit_code


def _usage(error: typer.TyperException) -> Problem:
    """A mistake that typer found, in our words."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "llmcalc"
    hint = f"{path} --help shows how to call it"
    option, likely = getattr(error, "option_name", ""), getattr(error, "possibilities", None)
    if option and likely:
        hint = f"did you mean {likely[0]}?"
    message = error.message if option else error.format_message()
    return Problem(
        message[:1].lower() + message[1:].rstrip(".").replace(": ", " ", 1 if option else 0), hint
    )
