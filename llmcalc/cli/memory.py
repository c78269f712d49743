"""`llmcalc memory`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmcalc import units
from llmcalc.cli.command import command
from llmcalc.cli.options import (
    Batch,
    Dp,
    Ep,
    Force,
    Gpus,
    Kv,
    Model,
    OptionalGpu,
    Pp,
    Runtime,
    Seq,
    Tp,
    Weights,
)
from llmcalc.report.model import Report

LIMITS = "Room"


@command(
    "llmcalc memory llama2-13b --batch 16 --gpu a100-80",
    "llmcalc memory llama3-70b --seq 8k --tp 8 --weights fp8 --explain",
    "llmcalc memory deepseek-v3 --seq 32k --kv-cache-memory-bytes 40GiB",
)
def memory(
    model: Model,
    *,
    batch: Batch = 1,
    seq: Seq = 4096,
    weights: Weights = "bf16",
    kv: Kv = "bf16",
    runtime: Runtime = "generic",
    gpu: OptionalGpu = None,
    gpus: Gpus = None,
    tp: Tp = None,
    pp: Pp = None,
    ep: Ep = None,
    dp: Dp = None,
    gpu_memory_utilization: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Share of the GPU that may be used.", rich_help_panel=LIMITS
        ),
    ] = 1.0,
    max_model_len: Annotated[
        int | None,
        typer.Option(
            metavar="TOKENS",
            parser=units.length,
            help="Length that concurrency is counted in.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    kv_cache_memory_bytes: Annotated[
        int | None,
        typer.Option(
            metavar="SIZE",
            parser=units.size,
            help="A budget for the cache alone, as 4GiB.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    force: Force = False,
) -> Report:
    """Inference memory on each GPU, part by part, and how far a GPU or a cache budget goes."""
    from llmcalc.api.memory import Room  # noqa: PLC0415  (commands load when called)
    from llmcalc.api.memory import memory as answer  # noqa: PLC0415
    from llmcalc.api.setup import setup  # noqa: PLC0415
    from llmcalc.catalog import find  # noqa: PLC0415

    chosen = setup(weights=weights, kv=kv, engine=runtime, gpus=gpus, tp=tp, pp=pp, ep=ep, dp=dp)
    room = Room(
        gpu=find.gpu(gpu) if gpu else None,
        utilization=gpu_memory_utilization,
        kv_budget=kv_cache_memory_bytes,
    )
    return answer(
        find.card(model),
        chosen,
        batch=batch,
        seq=seq,
        room=room,
        max_model_len=max_model_len,
        force=force,
    )
