"""`llmcalc train`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmcalc.cli.command import command
from llmcalc.cli.options import Model, OptionalGpu
from llmcalc.cli.training import Training
from llmcalc.cli.training_run import TrainingRun
from llmcalc.report.model import Report


@command(
    "llmcalc train llama2-7b --gpu a100-80 --precision pure-bf16 --recompute full",
    "llmcalc train llama3-8b --gpu 4090 --method qlora --rank 32 --timeline",
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
) -> Report:
    """What a training step holds on each GPU, and when; how long it takes, and what a run costs."""
    from llmcalc.api.train import train as answer  # noqa: PLC0415  (commands load when called)
    from llmcalc.catalog import find  # noqa: PLC0415

    return answer(
        find.card(model), training.plan(), gpu=find.gpu(gpu) if gpu else None,
        asked=run.asked(), chart=timeline,
    )  # fmt: skip
