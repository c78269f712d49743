"""`llmcalc train`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from llmcalc.cli.command import command
from llmcalc.cli.options import Force, Model, OptionalGpu
from llmcalc.cli.training import Training
from llmcalc.cli.training_run import TrainingRun
from llmcalc.report.model import Report


@command(
    "llmcalc train llama2-7b --gpu a100-80 --precision pure-bf16 --recompute full",
    "llmcalc train llama3-8b --gpu 4090 --method qlora --rank 32 --recompute full",
    "llmcalc train llama3-8b --gpu h100 -n 64 --shard fsdp --tokens 100B --price 2",
)
def train(
    model: Model,
    *,
    gpu: OptionalGpu = None,
    timeline: Annotated[
        bool, typer.Option("--timeline", help="Memory at each point of a step, as a chart.")
    ] = False,
    training: Training,
    run: TrainingRun,
    force: Force = False,
) -> Report:
    """What a training step holds on each GPU, and when; how long it takes, and what a run costs."""
    from llmcalc.api.train import train as answer  # noqa: PLC0415  (commands load when called)
    from llmcalc.api.train_rules import Said, idle  # noqa: PLC0415
    from llmcalc.catalog import find  # noqa: PLC0415

    card, plan, on = find.card(model), training.plan(), find.gpu(gpu) if gpu else None
    report = answer(card, plan, gpu=on, asked=run.asked(), chart=timeline, force=force)
    said = Said(training=training.asked(), card=card, gpu=on, run=run.asked())
    return replace(report, warnings=idle(said))
