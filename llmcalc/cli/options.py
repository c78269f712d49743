"""Options that several commands share, by the type of their parameter."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from llmcalc import units
from llmcalc.cli.complete import gpu_names, model_names

Method = Literal["full", "lora", "qlora", "dora"]
"""How a model is trained."""
Sharding = Literal["ddp", "zero1", "zero2", "zero3", "fsdp"]
Losses = Literal["eager", "shifted", "plain", "chunked", "fused", "linear", "cut"]
Recompute = Literal["none", "selective", "full"]
Offload = Literal["optimizer", "parameters"]

Models = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL...",
        help="Name, card, config.json or checkpoint.",
        autocompletion=model_names,
    ),
]
OptionalModels = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MODEL]...", help="Names; left out: the catalog.", autocompletion=model_names
    ),
]
Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="Name, card, config.json or checkpoint.", autocompletion=model_names
    ),
]
Gpu = Annotated[
    str,
    typer.Option(
        "--gpu", metavar="GPU", help="Name or spec file, as a100-80.", autocompletion=gpu_names
    ),
]
OptionalGpu = Annotated[
    str | None,
    typer.Option(
        "--gpu", metavar="GPU", help="Name or spec file, as a100-80.", autocompletion=gpu_names
    ),
]
Batch = Annotated[
    int, typer.Option("--batch", "-b", metavar="N", parser=units.count, help="Sequences at once.")
]
Seq = Annotated[
    int,
    typer.Option(
        "--seq", "-s", metavar="TOKENS", parser=units.length, help="Tokens of each, as 4096 or 4k."
    ),
]
Gpus = Annotated[
    int | None,
    typer.Option(
        "--gpus", "-n", metavar="N", parser=units.count, help="Number of GPUs, 1 if not said."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Go over the model's context limit.")]
Online = Annotated[
    bool, typer.Option("--online", help="Ask the Hugging Face hub for an id such as org/name.")
]
Weights = Annotated[
    str, typer.Option("--weights", metavar="FORMAT", help="As bf16, fp8, awq, nf4 or q4_k_m.")
]
Kv = Annotated[str, typer.Option("--kv", metavar="FORMAT", help="KV cache, as bf16, fp8 or q8_0.")]
KvValues = Annotated[
    str | None,
    typer.Option("--kv-values", metavar="FORMAT", help="Values, where not stored as keys are."),
]
Runtime = Annotated[
    str | None,
    typer.Option("--runtime", metavar="NAME", help="As vllm, sglang or llama.cpp; else generic."),
]
Emit = Annotated[
    str | None,
    typer.Option(
        "--emit", metavar="ENGINE", help="Print the line that starts it: vllm, llama.cpp and so on."
    ),
]
SPLIT = "Split over GPUs"


def _ranks(help: str) -> Any:
    return typer.Option(metavar="N", parser=units.count, help=help, rich_help_panel=SPLIT)


Tp = Annotated[int | None, _ranks("Tensor parallel ranks.")]
Pp = Annotated[int | None, _ranks("Pipeline stages.")]
Stages = Annotated[
    tuple[int, ...] | None,
    typer.Option(
        "--stages", metavar="N,N,...", parser=units.counts, help="Layers of each pipeline stage.",
        rich_help_panel=SPLIT,
    ),
]  # fmt: skip
Ep = Annotated[int | None, _ranks("Expert parallel ranks, within tp × dp.")]
RedundantExperts = Annotated[int | None, _ranks("Copies of experts, dealt out like them.")]
Dp = Annotated[int | None, _ranks("Replicas that share the batch.")]
AttentionDp = Annotated[int | None, _ranks("Groups of tensor ranks with sequences of their own.")]
Cp = Annotated[int | None, _ranks("Context parallel ranks, which share cached tokens.")]
Dcp = Annotated[int | None, _ranks("Tensor ranks that share cached tokens in decoding.")]
