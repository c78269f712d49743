"""The commands, found by name and imported only when they are called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from keyword import iskeyword
from typing import Any

from typer.core import TyperGroup

from llmcalc.cli.command import built
from llmcalc.errors import UsageError

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "Questions": ("params", "flops", "memory", "fit", "speed", "train", "rlhf"),
    "Proof": ("check", "validate", "bench"),
    "Catalog": ("models", "gpus", "show", "import", "schema"),
}
"""Headings of the help and their commands; `name` is the function `name` of cli/name.py."""

NAMES = tuple(name for names in COMMANDS.values() for name in names)


class Commands(TyperGroup):
    """A group that knows the names of its commands, and loads the one that is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  (typer's)
        """All names, in the order of the help."""
        return list(NAMES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  (typer's)
        """The command of that name, or None."""
        if cmd_name not in self.commands and cmd_name in NAMES:
            # `import` cannot name a module that Python imports.
            word = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
            module = import_module(f"llmcalc.cli.{word}")
            self.add_command(built(cmd_name, getattr(module, word)), cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the line names; raises UsageError for one that does not exist."""
        name = args[0]
        if name not in NAMES and not name.startswith("-") and not ctx.resilient_parsing:
            raise _unknown(name)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Each heading with the first sentence of its commands."""
        for heading, names in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(name, _summary(self.get_command(ctx, name).help)) for name in names]
                )

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  (typer's)
        """The main job as an example."""
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in (self.epilog or "").splitlines()))


def _summary(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


def _unknown(name: str) -> UsageError:
    from llmcalc.catalog.suggest import nearest  # noqa: PLC0415  (only on the way to an error)

    best = nearest(name[:100], NAMES)
    hint = f"did you mean llmcalc {best}?" if best else "llmcalc --help lists the commands"
    return UsageError(f"no such command {name[:100]!r}", hint=hint)
