"""Options of training that contradict each other, and those that do nothing beside the others.

A contradiction is refused; an option without effect is answered and named in a warning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from llmcalc.api.targets import narrowest, placed
from llmcalc.blueprint.operations import Ledger
from llmcalc.catalog.data import quantization
from llmcalc.catalog.measured_gpu import VENDOR
from llmcalc.engines.steptime.machine import node_of
from llmcalc.engines.train.plan import Plan
from llmcalc.errors import ImpossibleError, UsageError
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec
from llmcalc.spec.recipe import Recipe

if TYPE_CHECKING:
    from llmcalc.api.plans import Asked
    from llmcalc.api.train_time import Asked as Run

WIDE = 16
"""Bits of what is computed with."""


class Clash(NamedTuple):
    """Options that cannot both be meant."""

    message: Callable[[Asked], str]
    hint: str
    meets: Callable[[Asked], bool]


CLASHES: tuple[Clash, ...] = (
    Clash(
        lambda _: "rank, targets, dropout and tables beside them are those of adapters",
        "add --method lora, qlora or dora",
        lambda asked: (
            asked.method == "full"
            and bool(
                asked.rank is not None
                or asked.targets
                or asked.trained
                or asked.dropout is not None
            )
        ),
    ),
    Clash(
        lambda _: "--weights is how frozen weights are stored, and --method full has none",
        "leave --weights out, or add --method lora, qlora or dora",
        lambda asked: asked.method == "full" and asked.weights is not None,
    ),
    Clash(
        lambda asked: f"no library trains adapters beside weights in {asked.weights}",
        "as --weights nf4, int8, gptq or awq; bf16 where they are not quantised",
        lambda asked: asked.weights is not None and quantization(asked.weights).adapters is None,
    ),
    Clash(
        lambda asked: f"--vpp cuts stages for the interleaved schedule, not for {asked.schedule}",
        "leave out --vpp, or --schedule",
        lambda asked: asked.vpp > 1 and asked.schedule not in {None, "interleaved", "dualpipe"},
    ),
    Clash(
        lambda _: "--every computes neighbours again, and --one-in leaves them as they are",
        "use one of them",
        lambda asked: asked.every > 1 and asked.one_in > 1,
    ),
    Clash(
        lambda asked: f"qlora quantises the frozen weights, and {asked.weights} does not",
        "--method lora leaves them as they are",
        lambda asked: (
            asked.method == "qlora"
            and asked.weights is not None
            and quantization(asked.weights).bits >= WIDE
        ),
    ),
)


def refuse_clashes(asked: Asked) -> None:
    """Raise UsageError for the first contradiction."""
    for one in CLASHES:
        if one.meets(asked):
            raise UsageError(one.message(asked), hint=one.hint)


def runs_on(gpu: GpuSpec | None, recipe: Recipe) -> None:
    """Refuse FP8 where a GPU has none; a measurement does not tell. Raises ImpossibleError."""
    if gpu and recipe.inputs == 1 and gpu.compute.fp8 is None and gpu.vendor != VENDOR:
        raise ImpossibleError(
            f"{gpu.name} does not multiply in FP8: its spec has no such rate",
            hint="leave --precision out, or name a GPU that does, as h100",
        )


def cut_whole(ledger: Ledger, plan: Plan) -> None:
    """Refuse more pieces than a stage has layers. Raises ImpossibleError."""
    layers = -(-len(ledger.order) // plan.parallel.pp)
    if plan.parallel.pp > 1 and plan.vpp > layers:
        raise ImpossibleError(
            f"--vpp {plan.vpp} cuts stages of {layers} layers", hint=f"--vpp is at most {layers}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """All that a command line about training says."""

    training: Asked
    card: ModelCard
    gpu: GpuSpec | None = None
    run: Run | None = None
    """None: the command has none."""


class Idle(NamedTuple):
    """An option that moves nothing, or that the engine would refuse; why, and when."""

    option: str
    misses: str
    meets: Callable[[Asked, Said], bool]


def _endless(said: Said, name: str) -> bool:
    """Whether something is said of a run that has no length."""
    run = said.run
    return bool(run and getattr(run, name) is not None and not (run.tokens or run.samples))


def _in_one_node(asked: Asked, said: Said) -> bool:
    return said.gpu is not None and asked.gpus <= node_of(said.gpu)


def _too_wide(asked: Asked, said: Said) -> bool:
    from llmcalc.api.plans import lowered, plan  # noqa: PLC0415  (it imports this module)

    if asked.rank is None:
        return False
    chosen = plan(asked)
    ledger = lowered(said.card, chosen.framework)
    side = narrowest(placed(chosen, said.card, ledger), ledger)
    return side is not None and asked.rank > side


def _uneven(asked: Asked, _: Said) -> bool:
    from llmcalc.api.plans import plan  # noqa: PLC0415  (it imports this module)

    chosen = plan(asked)
    return asked.pp > 1 and chosen.vpp > 1 and chosen.micro_batches % asked.pp > 0


_LENGTH = "tells of a whole run, whose length --tokens or --samples give"

IDLE: tuple[Idle, ...] = (
    Idle(
        "--every", "does nothing without --recompute full",
        lambda asked, _: asked.every > 1 and asked.recompute != "full",
    ),
    Idle(
        "--one-in", "does nothing without --recompute full",
        lambda asked, _: asked.one_in > 1 and asked.recompute != "full",
    ),
    Idle(
        "--vpp", "does nothing without --pp above 1",
        lambda asked, _: asked.vpp > 1 and asked.pp == 1,
    ),
    Idle(
        "--schedule", "does nothing without --pp above 1",
        lambda asked, _: asked.schedule is not None and asked.pp == 1,
    ),
    Idle(
        "--schedule interleaved", "does nothing without --vpp above 1",
        lambda asked, _: asked.schedule == "interleaved" and asked.pp > 1 and asked.vpp == 1,
    ),
    Idle(  # Narayanan et al., arXiv:2104.04473, section 2.2.2
        "--global-batch", "makes no multiple of --pp micro-batches, as Megatron's --vpp demands",
        _uneven,
    ),
    Idle(
        "--sp", "does nothing without --tp above 1",
        lambda asked, _: asked.sp is True and asked.tp == 1,
    ),
    Idle(
        "--shard", "deals nothing out on one data rank; add --gpus",
        lambda asked, _: asked.shard != "ddp" and asked.gpus <= asked.tp * asked.pp,
    ),
    Idle(
        "--imbalance", "does nothing for a model without experts",
        lambda asked, said: asked.imbalance > 1 and not said.card.has_experts,
    ),
    Idle(
        "--network", "does nothing within one node",
        lambda asked, said: bool(said.run and said.run.network_gb_s) and _in_one_node(asked, said),
    ),
    Idle("--rank", "adds nothing above the narrowest side of a matrix it stands beside", _too_wide),
    Idle("--price", _LENGTH, lambda _, said: _endless(said, "price")),
    Idle("--mtbf", _LENGTH, lambda _, said: _endless(said, "mtbf_hours")),
    Idle("--checkpoint", _LENGTH, lambda _, said: _endless(said, "checkpoint_seconds")),
    Idle("--restart", _LENGTH, lambda _, said: _endless(said, "restart_seconds")),
)  # fmt: skip


def idle(said: Said) -> tuple[str, ...]:
    """A warning for each option without effect, or that the engine would refuse."""
    return tuple(f"{one.option} {one.misses}" for one in IDLE if one.meets(said.training, said))
