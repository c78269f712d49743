"""From the names of recipes, optimizers and frameworks to a plan of training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from llmcalc.api.request import at_least_one
from llmcalc.api.train_rules import refuse_clashes
from llmcalc.blueprint import lower
from llmcalc.blueprint.keeping.tensor import Kernel
from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.parallel import Parallel
from llmcalc.catalog import data, recipes
from llmcalc.catalog.suggest import did_you_mean
from llmcalc.engines.train.offload import To
from llmcalc.engines.train.plan import Adapters, Method, Offload, Plan, Recompute, Schedule
from llmcalc.engines.training import Sharding
from llmcalc.errors import ImpossibleError, UsageError
from llmcalc.spec.card import ModelCard
from llmcalc.spec.framework import Framework, Losses
from llmcalc.spec.quantization import Quantization

RANK = 16
TARGETS = ("all-linear",)
TABLES = ("embedding", "head")
"""What is trained whole beside adapters."""
UNFUSED: dict[Losses, Losses] = {"fused": "eager", "linear": "eager", "cut": "eager"}
"""What stands in for a fused loss where kernels are plain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What people say of a training run; None is what the framework does."""

    framework: str = "generic"
    precision: str | None = None
    optimizer: str = "adamw"
    method: Method = "full"
    weights: str | None = None
    """How frozen weights are stored; QLoRA: nf4."""
    rank: int | None = None
    targets: frozenset[str] = frozenset()
    trained: frozenset[str] = frozenset()
    """Tables that are trained whole beside adapters: embedding, head."""
    dropout: bool | None = None
    """Whether adapters see a dropped-out copy of their input."""
    shard: Sharding = "ddp"
    replicate: int = 1
    gpus: int = 1
    tp: int = 1
    pp: int = 1
    vpp: int = 1
    cp: int = 1
    ep: int = 1
    sp: bool | None = None
    schedule: Schedule | None = None
    micro_batch: int = 1
    global_batch: int | None = None
    seq: int = 2048
    kernels: Kernel | None = None
    loss: Losses | None = None
    recompute: Recompute = "none"
    every: int = 1
    one_in: int = 1
    offload: Offload = "none"
    offload_to: To = "cpu"
    imbalance: float = 1.0


def plan(asked: Asked) -> Plan:
    """The plan that somebody asked for.

    Raises UsageError for unknown names and contradictions, ImpossibleError for numbers that cannot
    be, and where GPUs or batches do not divide.
    """
    _possible(asked)
    refuse_clashes(asked)
    framework = recipes.framework(asked.framework)
    dp = _replicas(asked)
    batches = _micro_batches(asked, dp)
    kernels = asked.kernels or framework.kernels
    sequence = framework.kernels == "fused" if asked.sp is None else asked.sp
    return Plan(
        recipe=recipes.recipe(asked.precision or _usual(asked, framework)),
        optimizer=recipes.optimizer(asked.optimizer),
        framework=framework,
        frozen=_frozen(asked),
        adapters=_adapters(asked, framework),
        sharding=asked.shard,
        replicate=_copies(asked, dp),
        parallel=Parallel(tp=asked.tp, pp=asked.pp, cp=asked.cp, ep=asked.ep, dp=dp),
        sequence_parallel=sequence and asked.tp > 1,
        schedule=_schedule(asked, batches),
        vpp=asked.vpp,
        micro_batch=asked.micro_batch,
        micro_batches=batches,
        seq=asked.seq,
        kernels=kernels,
        loss=asked.loss or _loss(framework, kernels),
        recompute=asked.recompute,
        every=asked.every,
        one_in=asked.one_in,
        offload=asked.offload,
        offload_to=asked.offload_to,
        imbalance=asked.imbalance,
    )


def _possible(asked: Asked) -> None:
    """Refuse numbers that no run has."""
    at_least_one(
        gpus=asked.gpus, micro_batch=asked.micro_batch, global_batch=asked.global_batch,
        seq=asked.seq, tp=asked.tp, pp=asked.pp, vpp=asked.vpp, cp=asked.cp, ep=asked.ep,
        every=asked.every, one_in=asked.one_in, replicate=asked.replicate, rank=asked.rank,
    )  # fmt: skip
    if not 1 <= asked.imbalance < inf:
        raise ImpossibleError(
            f"--imbalance {asked.imbalance:g} is not possible",
            hint="--imbalance is 1 where experts are balanced, and above 1 where they are not",
        )


def lowered(card: ModelCard, framework: Framework) -> Ledger:
    """The operations of a model in training, as the framework builds it."""
    if framework.unties:
        card = replace(card, embedding=replace(card.embedding, tied=False))
    return lower(card, training=True)


def _usual(asked: Asked, framework: Framework) -> str:
    """The precision that a framework trains in where nobody asks for another."""
    whole = asked.method == "full" or asked.trained
    return framework.recipe if whole else framework.adapters or framework.recipe


def _replicas(asked: Asked) -> int:
    """Data ranks that the other ranks leave."""
    others = asked.tp * asked.pp * asked.cp
    if asked.gpus % others:
        message = f"{asked.gpus} GPUs are no multiple of tp × pp × cp = {others}"
        raise ImpossibleError(message, hint=f"use {-(-asked.gpus // others) * others} GPUs")
    return asked.gpus // others


def _schedule(asked: Asked, micro_batches: int) -> Schedule:
    """Of the pipeline; DualPipe halves its stages and micro-batches."""
    if asked.schedule == "dualpipe":
        if asked.vpp > 1:
            raise UsageError("dualpipe has no pieces that interleave", hint="leave out --vpp")
        if asked.pp % 2 or micro_batches % 2:
            message = f"dualpipe halves {asked.pp} stages and {micro_batches} micro-batches"
            raise ImpossibleError(message, hint="use an even --pp, and a --global-batch for it")
    return asked.schedule or ("interleaved" if asked.vpp > 1 else "1f1b")


def _copies(asked: Asked, dp: int) -> int:
    """Groups of data ranks that each deal out all of it (HSDP)."""
    if asked.replicate == 1:
        return 1
    if asked.shard == "ddp":
        raise UsageError(
            "ddp deals nothing out: every rank has a copy", hint="add --shard fsdp, or a zero stage"
        )
    if dp % asked.replicate:
        message = f"{dp} data ranks do not divide into {asked.replicate} copies"
        raise ImpossibleError(message, hint=f"--replicate takes what divides {dp}")
    ranks = asked.tp * asked.cp * dp // asked.replicate
    if ranks % asked.ep:
        message = f"{asked.ep} expert ranks do not fit the {ranks} ranks of one copy"
        raise ImpossibleError(message, hint="lower --ep or --replicate")
    return asked.replicate


def _micro_batches(asked: Asked, dp: int) -> int:
    """Micro-batches of one rank a step; without a global batch as many as fill the pipeline."""
    if asked.global_batch is None:
        return asked.pp
    each = asked.micro_batch * dp
    if asked.global_batch % each:
        message = f"a global batch of {asked.global_batch} is no multiple of {each}"
        raise ImpossibleError(f"{message}, micro-batch × data ranks", hint=f"use {each} or 2 × it")
    return asked.global_batch // each


def _loss(framework: Framework, kernels: Kernel) -> Losses:
    """The framework's loss, a plain one where kernels are asked to be plain."""
    return framework.loss if kernels == framework.kernels else UNFUSED.get(
        framework.loss, framework.loss
    )  # fmt: skip


def _frozen(asked: Asked) -> Quantization:
    return data.quantization(asked.weights or ("nf4" if asked.method == "qlora" else "bf16"))


def _adapters(asked: Asked, framework: Framework) -> Adapters | None:
    if asked.method == "full":
        return None
    for name in sorted(asked.trained - set(TABLES)):
        message = f"--also-train takes tables, not {name[:100]!r}"
        raise UsageError(message, hint=did_you_mean(name, TABLES))
    return Adapters(
        targets=asked.targets or frozenset(TARGETS),
        rank=asked.rank or RANK,
        magnitudes=asked.method == "dora",
        trained=asked.trained,
        quantised=_frozen(asked).bits < 16,  # noqa: PLR2004  bits of what is computed with
        dropout=framework.adapter_dropout if asked.dropout is None else asked.dropout,
    )
