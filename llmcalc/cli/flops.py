"""`llmcalc flops`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from llmcalc import units
from llmcalc.cli.command import command
from llmcalc.cli.options import Batch, Force, Model, Seq
from llmcalc.report.model import Report


@command(
    "llmcalc flops llama2-7b --batch 4 --seq 2048",
    "llmcalc flops llama3-70b --phase decode --context 8k",
    "llmcalc flops gpt2 --phase train --seq 1024 --attention full",
)
def flops(
    model: Model,
    *,
    batch: Batch = 1,
    seq: Seq = 2048,
    phase: Annotated[
        Literal["prefill", "decode", "train"],
        typer.Option(help="Of what; train is forward and backward."),
    ] = "prefill",
    context: Annotated[
        int | None,
        typer.Option(metavar="TOKENS", parser=units.length, help="Tokens seen, new ones included."),
    ] = None,
    attention: Annotated[
        Literal["causal", "full"],
        typer.Option(help="Half the product, or all of it as torch counts."),
    ] = "causal",
    force: Force = False,
) -> Report:
    """FLOPs of a prefill, a decode step or a training step, beside the 2N or 6N rule."""
    from llmcalc.api.flops import flops as answer  # noqa: PLC0415  (commands load when called)
    from llmcalc.catalog.find import card  # noqa: PLC0415

    return answer(
        card(model),
        batch=batch,
        seq=seq,
        phase=phase,
        context=context,
        attention=attention,
        force=force,
    )
