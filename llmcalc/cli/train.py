"""`llmcalc train`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmcalc.cli.command import command
from llmcalc.cli.options import Model, OptionalGpu
from llmcalc.cli.training import Training
from llmcalc.report.model import Report


@command(
    "llmcalc train llama2-7b --gpu a100-80 --precision pure-bf16 --recompute full",
    "llmcalc train llama3-8b --gpu 4090 --method qlora --rank 32 --timeline",
    "llmcalc train llama3-70b --framework megatron-lm -n 64 --tp 8 --shard zero1",
)
def train(
    model: Model,
    *,
    gpu: OptionalGpu = None,
    timeline: Annotated[
        bool, typer.Option("--timeline", help="Memory at each point of a step, as a chart.")
    ] = False,
    training: Training,
) -> Report:
    """What one training step holds on each GPU: weights, states, activations, loss, and when."""
    from llmcalc.api.train import train as answer  # noqa: PLC0415  (commands load when called)
    from llmcalc.catalog import find  # noqa: PLC0415

    found = find.card(model)
    return answer(found, training.plan(), gpu=find.gpu(gpu) if gpu else None, chart=timeline)
