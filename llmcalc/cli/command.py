"""How a function becomes a command: its own options, the shared ones, and its help."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass, replace
from functools import wraps
from typing import Any, cast

import typer
from typer.core import TyperCommand

from llmcalc import formula
from llmcalc.cli.output import Output, emit
from llmcalc.report.model import Report

Body = Callable[..., Report]
Run = Callable[..., int]

EXAMPLES = "__llmcalc_examples__"


def command(*examples: str) -> Callable[[Body], Run]:
    """Give a function that answers with a Report the options of `Output`, and its examples.

    A parameter that is a dataclass stands for an option a field.
    Under --explain every formula called inside leaves its step in the report.
    """

    def attach(body: Body) -> Run:
        own = inspect.signature(body, eval_str=True)
        bundles: dict[str, Any] = {
            name: parameter.annotation
            for name, parameter in own.parameters.items()
            if is_dataclass(parameter.annotation)
        }
        plain = [one for one in own.parameters.values() if one.name not in bundles]
        shared = _options(Output)

        @wraps(body)
        def run(**given: Any) -> int:
            output = Output(**{one.name: given.pop(one.name) for one in shared})
            _ = output.form  # two forms at once are refused before any work is done
            for name, bundle in bundles.items():
                given[name] = bundle(**{one.name: given.pop(one.name) for one in _options(bundle)})
            return emit(_explained(body, given) if output.explain else body(**given), output)

        bundled = [one for bundle in bundles.values() for one in _options(bundle)]
        signature = own.replace(parameters=[*plain, *bundled, *shared], return_annotation=int)
        # typer reads the signature, and would evaluate the annotations of the body a second time.
        vars(run).update(__signature__=signature, __annotations__={}, **{EXAMPLES: examples})
        run.__annotations__ = {}
        return run

    return attach


def _options(bundle: Any) -> list[inspect.Parameter]:
    """The options that a dataclass holds, one a field."""
    return list(inspect.signature(bundle, eval_str=True).parameters.values())


def _explained(body: Body, given: dict[str, Any]) -> Report:
    with formula.recording() as steps:
        report = body(**given)
    return report if report.steps else replace(report, steps=tuple(steps))


def built(name: str, run: Run) -> TyperCommand:
    """The command that typer makes of a decorated function."""
    one = typer.Typer(add_completion=False, rich_markup_mode=None)
    one.command(name, cls=Command, epilog="\n".join(getattr(run, EXAMPLES)))(run)
    return cast("TyperCommand", typer.main.get_command(one))


class Command(TyperCommand):
    """A command whose help groups its options and ends with examples, in a pipe as on a screen."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """`MODEL` for what is required, `[QUERY...]` for what is not; typer writes {MODEL}."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, own options, then each panel in the order it first occurs."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            kind = "Arguments" if param.param_type_name == "argument" else "Options"
            if record:
                panels.setdefault(getattr(param, "rich_help_panel", None) or kind, []).append(
                    record
                )
        for panel, records in panels.items():
            if records:
                with formatter.section(panel):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  (typer's)
        """The examples, each on its own line."""
        if self.epilog:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in self.epilog.splitlines()))
