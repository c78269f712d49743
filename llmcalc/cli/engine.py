"""How a model is stored, run and split: the options that every question about serving shares."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from llmcalc import units
from llmcalc.cli.options import (
    AttentionDp,
    Cp,
    Dcp,
    Dp,
    Emit,
    Ep,
    Gpus,
    Kv,
    KvValues,
    Pp,
    RedundantExperts,
    Runtime,
    Stages,
    Tp,
    Weights,
)

if TYPE_CHECKING:
    from llmcalc.api.setup import Setup
    from llmcalc.engines.beside import Beside

PANEL = "Settings of the runtime, by its own names"


def _share(help: str) -> Any:
    return Option(metavar="SHARE", help=help, rich_help_panel=PANEL)


def _tokens(*flags: str, help: str) -> Any:
    return Option(*flags, metavar="TOKENS", parser=units.length, help=help, rich_help_panel=PANEL)


def _number(*flags: str, help: str) -> Any:
    return Option(*flags, metavar="N", parser=units.count, help=help, rich_help_panel=PANEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Weights, cache and runtime, the split, and the runtime's settings."""

    weights: Weights = "bf16"
    kv: Kv = "bf16"
    kv_values: KvValues = None
    runtime: Runtime = None
    emit: Emit = None
    gpus: Gpus = None
    tp: Tp = None
    pp: Pp = None
    stages: Stages = None
    ep: Ep = None
    redundant_experts: RedundantExperts = None
    dp: Dp = None
    attention_dp: AttentionDp = None
    cp: Cp = None
    dcp: Dcp = None
    gpu_memory_utilization: Annotated[
        float | None, _share("vLLM: share of the GPU that it may use.")
    ] = None
    mem_fraction_static: Annotated[float | None, _share("SGLang: share for weights and cache.")] = (
        None
    )
    free_gpu_memory_fraction: Annotated[
        float | None, _share("TensorRT-LLM: share of what is left for the cache.")
    ] = None
    max_model_len: Annotated[
        int | None,
        _tokens(
            "--max-model-len", "--context-length", help="Longest sequence; concurrency counts it."
        ),
    ] = None
    max_num_seqs: Annotated[
        int | None,
        _number(
            "--max-num-seqs", "--max-running-requests", "--max-batch-size",
            help="Sequences that the engine prepares for.",
        ),
    ] = None  # fmt: skip
    max_num_batched_tokens: Annotated[
        int | None,
        _tokens(
            "--max-num-batched-tokens", "--chunked-prefill-size", "--max-num-tokens",
            help="Tokens computed at once.",
        ),
    ] = None  # fmt: skip
    block_size: Annotated[
        int | None, _tokens("--block-size", "--page-size", help="Tokens of one block of cache.")
    ] = None
    ubatch_size: Annotated[
        int | None, _tokens("--ubatch-size", "-ub", help="llama.cpp: tokens computed at once.")
    ] = None
    parallel: Annotated[
        int | None, _number("--parallel", "-np", help="llama.cpp: slots of the server.")
    ] = None
    n_gpu_layers: Annotated[
        int | None,
        _number("--n-gpu-layers", "-ngl", help="llama.cpp: layers on GPUs, others on the host."),
    ] = None
    flash_attn: Annotated[
        bool | None,
        Option("--flash-attn/--no-flash-attn", help="Flash attention.", rich_help_panel=PANEL),
    ] = None
    enforce_eager: Annotated[
        bool | None,
        Option("--enforce-eager", help="Without CUDA graphs.", rich_help_panel=PANEL),
    ] = None
    async_scheduling: Annotated[
        bool | None,
        Option(
            "--async-scheduling/--no-async-scheduling", help="vLLM: steps scheduled ahead.",
            rich_help_panel=PANEL,
        ),
    ] = None  # fmt: skip
    cpu_offload_gb: Annotated[
        float | None,
        Option(metavar="GIB", help="vLLM: weights kept on the host.", rich_help_panel=PANEL),
    ] = None

    def setup(self, beside: Beside) -> Setup:
        """The names looked up. Raises UsageError for unknown ones."""
        from llmcalc.api.setup import Split, setup  # noqa: PLC0415  (commands load when called)
        from llmcalc.spec.settings import Settings  # noqa: PLC0415

        runtime = self.runtime or self._started() or "generic"
        settings = {field.name: getattr(self, field.name) for field in fields(Settings)}
        ranks = {field.name: getattr(self, field.name) for field in fields(Split)}
        return setup(
            weights=self.weights, kv=self.kv, kv_values=self.kv_values, engine=runtime,
            settings=Settings(**settings), beside=beside, **ranks,
        )  # fmt: skip

    def _started(self) -> str | None:
        """The runtime whose line is asked for."""
        if self.emit is None:
            return None
        from llmcalc.api.emit import engine_of  # noqa: PLC0415

        return engine_of(self.emit)
