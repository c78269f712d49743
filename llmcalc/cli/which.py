"""Which models of the catalog a question is about, where it names none."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from llmcalc import units

if TYPE_CHECKING:
    from llmcalc.api.selection import Filter

PANEL = "Which models"


def _bound(help: str) -> Any:
    return Option(metavar="N", parser=units.count, help=help, rich_help_panel=PANEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """A part of the name, a family, bounds of size, and how many are shown."""

    name: Annotated[
        str | None,
        Option(metavar="TEXT", help="Only names that contain this.", rich_help_panel=PANEL),
    ] = None
    family: Annotated[
        str | None, Option(metavar="NAME", help="Only this family.", rich_help_panel=PANEL)
    ] = None
    min_params: Annotated[int | None, _bound("At least so many parameters, as 7B.")] = None
    max_params: Annotated[int | None, _bound("At most so many parameters, as 70B.")] = None
    everything: Annotated[bool, Option("--all", help="Every model.", rich_help_panel=PANEL)] = False

    def idle(self) -> tuple[str, ...]:
        """A warning for each option, where models are named."""
        said = [one.name for one in fields(self) if getattr(self, one.name) != one.default]
        options = ("all" if name == "everything" else name.replace("_", "-") for name in said)
        return tuple(
            f"--{option} chooses from the catalog, and does nothing where MODEL is named"
            for option in options
        )

    def filter(self) -> Filter:
        """The choice from the catalog."""
        from llmcalc.api.selection import Filter  # noqa: PLC0415  (commands load when called)

        return Filter(
            words=[self.name] if self.name else [], family=self.family,
            min_params=self.min_params, max_params=self.max_params,
        )  # fmt: skip
