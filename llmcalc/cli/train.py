"""`llmcalc train`, a first view."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from llmcalc.cli.command import command
from llmcalc.cli.options import Gpus, Model, OptionalGpu
from llmcalc.report.model import Report


@command(
    "llmcalc train llama2-7b --gpu a100-80",
    "llmcalc train llama3-70b --gpu h100 -n 64 --shard zero3",
)
def train(
    model: Model,
    *,
    gpu: OptionalGpu = None,
    gpus: Gpus = None,
    precision: Annotated[
        str, typer.Option(metavar="RECIPE", help="bf16-mixed, megatron, pure-bf16 or fp32.")
    ] = "bf16-mixed",
    shard: Annotated[
        Literal["ddp", "zero1", "zero2", "zero3", "fsdp"],
        typer.Option(help="What the GPUs share out."),
    ] = "ddp",
) -> Report:
    """Static training memory: weights, gradients, master weights and Adam's moments."""
    from llmcalc.api.train import train as answer  # noqa: PLC0415  (commands load when called)
    from llmcalc.catalog import find  # noqa: PLC0415
    from llmcalc.catalog.data import recipe  # noqa: PLC0415

    return answer(
        find.card(model),
        recipe(precision),
        gpu=find.gpu(gpu) if gpu else None,
        gpus=gpus if gpus is not None else 1,
        shard=shard,
    )
