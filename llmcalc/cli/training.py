"""How a model is trained: the options that every question about training shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from llmcalc import units
from llmcalc.cli.options import Gpus, Losses, Method, Offload, Recompute, Sharding
from llmcalc.errors import UsageError

if TYPE_CHECKING:
    from llmcalc.api.plans import Asked
    from llmcalc.engines.train.plan import Plan

To = Literal["cpu", "nvme"]

SPLIT = "Split over GPUs"
STATES = "Precision, optimizer and adapters"
MEMORY = "What is kept and computed again"

Schedule = Literal["1f1b", "interleaved", "zb-h1", "zb-h2", "gpipe", "dualpipe"]
Kernels = Literal["eager", "sdpa", "fused"]


def _ranks(help: str) -> Any:
    return Option(metavar="N", parser=units.count, help=help, rich_help_panel=SPLIT)


def _state(*flags: str, metavar: str | None = None, help: str) -> Any:
    return Option(*flags, metavar=metavar, help=help, rich_help_panel=STATES)


def _kept(*flags: str, metavar: str | None = None, help: str) -> Any:
    return Option(*flags, metavar=metavar, help=help, rich_help_panel=MEMORY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Method, batch, precision, optimizer, split, and what is kept."""

    method: Annotated[Method, Option(help="All weights, or adapters beside frozen ones.")] = "full"
    micro_batch: Annotated[
        int, Option("--micro-batch", "-b", metavar="N", parser=units.count,
                    help="Sequences that go through at once on one rank."),
    ] = 1  # fmt: skip
    global_batch: Annotated[
        int | None, Option(metavar="N", parser=units.count,
                           help="Sequences of one step on all ranks."),
    ] = None  # fmt: skip
    seq: Annotated[
        int, Option("--seq", "-s", metavar="TOKENS", parser=units.length, help="Of each sequence.")
    ] = 2048
    framework: Annotated[
        str, Option(metavar="NAME", help="As huggingface, megatron-lm or torchtune; else generic.")
    ] = "generic"
    gpus: Gpus = None
    precision: Annotated[
        str | None,
        _state(metavar="RECIPE", help="As bf16-mixed, megatron, deepspeed, pure-bf16 or fp8."),
    ] = None
    optimizer: Annotated[
        str, _state(metavar="NAME", help="As adamw, adamw-8bit, adafactor, lion, muon or sgd.")
    ] = "adamw"
    weights: Annotated[
        str | None, _state(metavar="FORMAT", help="Of frozen weights; nf4 under qlora.")
    ] = None
    rank: Annotated[
        int | None, Option(metavar="N", parser=units.count, help="Of adapters; 16 if not said.",
                           rich_help_panel=STATES),
    ] = None  # fmt: skip
    targets: Annotated[
        str | None,
        _state(metavar="NAME,...", help="As attention,mlp or q_proj,v_proj; else all-linear."),
    ] = None
    also_train: Annotated[
        str | None, _state(metavar="NAME,...", help="Tables beside adapters: embedding, head.")
    ] = None
    adapter_dropout: Annotated[
        bool | None, _state("--adapter-dropout/--no-adapter-dropout",
                            help="Of adapters' inputs, which is kept; else as the framework does."),
    ] = None  # fmt: skip
    shard: Annotated[
        Sharding, Option(help="What data ranks deal out among them.", rich_help_panel=SPLIT)
    ] = "ddp"
    replicate: Annotated[int, _ranks("Copies of what is dealt out (HSDP), each over fewer.")] = 1
    tp: Annotated[int, _ranks("Tensor parallel ranks.")] = 1
    sp: Annotated[
        bool | None,
        Option("--sp/--no-sp", help="Tensor ranks share the stream.", rich_help_panel=SPLIT),
    ] = None
    pp: Annotated[int, _ranks("Pipeline stages.")] = 1
    vpp: Annotated[int, _ranks("Pieces of each stage, which interleave.")] = 1
    schedule: Annotated[Schedule | None, Option(help="Of the pipeline.", rich_help_panel=SPLIT)] = (
        None
    )
    cp: Annotated[int, _ranks("Context parallel ranks, which share each sequence.")] = 1
    ep: Annotated[int, _ranks("Expert parallel ranks, within tp × cp × data ranks.")] = 1
    imbalance: Annotated[
        float,
        Option(metavar="X", help="Tokens of the busiest experts over those of a balanced rank.",
               rich_help_panel=SPLIT),
    ] = 1.0  # fmt: skip
    kernels: Annotated[Kernels | None, _kept(help="How layers are computed.")] = None
    loss: Annotated[Losses | None, _kept(help="How the loss is computed.")] = None
    recompute: Annotated[Recompute, _kept(help="What is computed again.")] = "none"
    every: Annotated[
        int, Option(metavar="LAYERS", parser=units.count, rich_help_panel=MEMORY,
                    help="Layers computed again together, under --recompute full."),
    ] = 1  # fmt: skip
    one_in: Annotated[
        int, Option(metavar="LAYERS", parser=units.count, rich_help_panel=MEMORY,
                    help="Of so many one is computed again, under --recompute full."),
    ] = 1  # fmt: skip
    offload: Annotated[
        bool, Option("--offload", rich_help_panel=MEMORY,
                     help="Weights and optimizer states in the host's memory, or its NVMe."),
    ] = False  # fmt: skip
    offload_only: Annotated[Offload | None, _kept(help="Some of that.")] = None
    offload_to: Annotated[To | None, _kept(help="Its memory, if not said.")] = None

    def plan(self) -> Plan:
        """The names looked up. Raises UsageError for unknown ones, and for contradictions."""
        from llmcalc.api.plans import plan  # noqa: PLC0415  (commands load when called)

        return plan(self.asked())

    def asked(self) -> Asked:
        """What was said. Raises UsageError where it is said twice."""
        from llmcalc.api.plans import Asked  # noqa: PLC0415  (commands load when called)

        if self.offload and self.offload_only:
            raise UsageError(
                "--offload and --offload-only both say what goes to the host",
                hint="give one of them",
            )
        if self.offload_to and not (self.offload or self.offload_only):
            raise UsageError(
                "--offload-to says where, and nothing is offloaded", hint="add --offload"
            )
        return Asked(
            framework=self.framework, precision=self.precision, optimizer=self.optimizer,
            method=self.method, weights=self.weights, rank=self.rank,
            targets=_names("--targets", self.targets, "attention,mlp"),
            trained=_names("--also-train", self.also_train, "embedding,head"),
            dropout=self.adapter_dropout, shard=self.shard, replicate=self.replicate,
            gpus=self.tp * self.pp * self.cp if self.gpus is None else self.gpus,
            tp=self.tp, pp=self.pp, vpp=self.vpp, cp=self.cp, ep=self.ep, sp=self.sp,
            schedule=self.schedule, micro_batch=self.micro_batch,
            global_batch=self.global_batch, seq=self.seq, kernels=self.kernels,
            loss=self.loss, recompute=self.recompute, every=self.every,
            one_in=self.one_in,
            offload=self.offload_only or ("all" if self.offload else "none"),
            offload_to=self.offload_to or "cpu",
            imbalance=self.imbalance,
        )  # fmt: skip


def _names(option: str, text: str | None, example: str) -> frozenset[str]:
    names = frozenset(one.strip() for one in (text or "").split(",") if one.strip())
    if text is not None and not names:
        raise UsageError(f"{option} {text!r} names nothing", hint=f"write it as {example}")
    return names
