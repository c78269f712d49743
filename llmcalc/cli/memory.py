"""`llmcalc memory`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmcalc import units
from llmcalc.cli.beside import BesideOptions
from llmcalc.cli.command import command
from llmcalc.cli.engine import PANEL, Engine
from llmcalc.cli.options import Batch, Force, Model, OptionalGpu, Seq
from llmcalc.report.model import Report


@command(
    "llmcalc memory llama2-13b --batch 16 --gpu a100-80",
    "llmcalc memory llama3-70b --seq 8k --tp 8 --weights fp8 --explain",
    "llmcalc memory deepseek-v3 --seq 32k --kv-cache-memory-bytes 40GiB",
    "llmcalc memory llama3-8b --runtime llama.cpp --weights q4_k_m --gpu 3090",
    "llmcalc memory qwen3-32b --runtime vllm --gpu h100 --gpus 2 --tp 2",
)
def memory(
    model: Model,
    *,
    batch: Batch = 1,
    seq: Seq = 4096,
    gpu: OptionalGpu = None,
    engine: Engine,
    extra: BesideOptions,
    kv_cache_memory_bytes: Annotated[
        int | None,
        typer.Option(
            metavar="SIZE",
            parser=units.size,
            help="A budget for the cache alone, as 4GiB.",
            rich_help_panel=PANEL,
        ),
    ] = None,
    force: Force = False,
) -> Report:
    """Inference memory on each GPU, part by part, and how far a GPU or a cache budget goes."""
    from llmcalc.api.memory import memory as answer  # noqa: PLC0415
    from llmcalc.api.memory_result import Room  # noqa: PLC0415  (commands load when called)
    from llmcalc.catalog import find  # noqa: PLC0415

    room = Room(gpu=find.gpu(gpu) if gpu else None, kv_budget=kv_cache_memory_bytes)
    return answer(
        find.card(model),
        engine.setup(extra.beside()),
        batch=batch,
        seq=seq,
        room=room,
        emit=engine.emit,
        force=force,
    )
