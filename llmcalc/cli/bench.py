"""`llmcalc bench`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmcalc import units
from llmcalc.api.bench import DEFAULT_MODEL, BenchAsk, Kind
from llmcalc.cli.command import command
from llmcalc.cli.complete import model_names
from llmcalc.report.model import Report


@command(
    "llmcalc bench --quick",
    "llmcalc bench --model llama3-8b --save my-box",
    "llmcalc bench --device cpu --json",
)
def bench(
    *,
    device: Annotated[
        Kind | None, typer.Option(help="Left out: the accelerator where there is one.")
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="CARD", help="The model whose shapes are measured.", autocompletion=model_names
        ),
    ] = DEFAULT_MODEL,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer sizes, under a minute.")] = False,
    threads: Annotated[
        int | None,
        typer.Option(metavar="N", parser=units.count, help="Threads of the host; else torch's."),
    ] = None,
    collectives: Annotated[
        bool,
        typer.Option("--collectives", help="Links between the ranks of torchrun, and only those."),
    ] = False,
    save: Annotated[
        str | None, typer.Option(metavar="NAME", help="Keep it, for --gpu NAME anywhere.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what was saved so.")] = False,
) -> Report:
    """Measure what this machine really does: memory, weights, cache, a decode step, links."""
    from llmcalc.api.bench import bench as answer  # noqa: PLC0415  (commands load when called)
    from llmcalc.cli.progress import BenchProgress  # noqa: PLC0415

    ask = BenchAsk(
        device=device, model=model, quick=quick, threads=threads, collectives=collectives,
        save=save, force=force,
    )  # fmt: skip
    report = answer(ask, BenchProgress())
    if report is None:  # the first rank answers
        raise typer.Exit
    return report
