"""`llmcalc gpus`."""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Argument, Option

from llmcalc import units
from llmcalc.cli.command import command
from llmcalc.report.model import Report


@command(
    "llmcalc gpus",
    "llmcalc gpus h100",
    "llmcalc gpus --vendor amd --min-memory 100GB",
)
def gpus(
    query: Annotated[
        list[str] | None,
        Argument(metavar="QUERY...", help="Words that name, title or alias must hold."),
    ] = None,
    *,
    vendor: Annotated[str | None, Option(help="Only this vendor, as nvidia.")] = None,
    min_memory: Annotated[
        int | None,
        Option(parser=units.size, metavar="SIZE", help="At least so much memory, as 80GB."),
    ] = None,
    kind: Annotated[
        Literal["gpu", "tpu", "npu", "apu", "cpu"] | None, Option(help="Only this kind.")
    ] = None,
) -> Report:
    """List and search the GPUs of the catalog."""
    from llmcalc.api.gpus import gpus as answer  # noqa: PLC0415  (start-up)

    return answer(query or (), vendor=vendor, min_memory=min_memory, kind=kind)
