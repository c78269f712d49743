"""`llmcalc speed`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmcalc import units
from llmcalc.cli.beside import BesideOptions
from llmcalc.cli.command import command
from llmcalc.cli.engine import Engine
from llmcalc.cli.options import Batch, Force, Gpu, Model
from llmcalc.report.model import Report


@command(
    "llmcalc speed llama2-70b --gpu a100-80 --tp 8 --prompt 3840 --output 256",
    "llmcalc speed llama3-8b --gpu 4090 --runtime llama.cpp --weights q4_k_m",
    "llmcalc speed qwen3-30b-a3b --gpu h100 --runtime vllm --batch 64 --price 2.5",
)
def speed(
    model: Model,
    *,
    gpu: Gpu,
    batch: Batch = 1,
    prompt: Annotated[
        int, typer.Option(metavar="TOKENS", parser=units.length, help="Of each sequence.")
    ] = 1024,
    output: Annotated[
        int, typer.Option(metavar="TOKENS", parser=units.length, help="Made of each sequence.")
    ] = 256,
    host: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Processor that computes layers left on the host."),
    ] = None,
    price: Annotated[
        float | None, typer.Option(metavar="USD", help="Of one GPU for an hour.")
    ] = None,
    engine: Engine,
    extra: BesideOptions,
    force: Force = False,
) -> Report:
    """How fast prompts are read and tokens come, bound by what, beside the floors; at what cost."""
    from llmcalc.api.served import Load  # noqa: PLC0415  (commands load when called)
    from llmcalc.api.speed import speed as answer  # noqa: PLC0415
    from llmcalc.catalog import find  # noqa: PLC0415

    return answer(
        find.card(model),
        engine.setup(extra.beside()),
        find.gpu(gpu),
        Load(batch=batch, prompt=prompt, output=output),
        host=find.gpu(host) if host else None,
        price=price,
        force=force,
    )
