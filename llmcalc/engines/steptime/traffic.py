"""Seconds that ranks exchange data in a step: rings, each rank sending (n − 1)/n of the bytes."""

from __future__ import annotations

from llmcalc.engines.steptime.amounts import WIDE, Amounts
from llmcalc.engines.steptime.run import Machine, Run, Schedule
from llmcalc.formula import formula


@formula(
    "bytes · (ranks − 1) / (ranks · rate)",
    source="ring all-gather or reduce-scatter (Patarasuk and Yuan 2009)",
    unit="seconds",
    basis="modelled",
)
def ring_seconds(*, bytes: float, ranks: int, rate: float) -> float:
    """Of an all-gather or a reduce-scatter of so many bytes; an all-reduce is one of each."""
    return bytes * (ranks - 1) / (ranks * rate)


@formula(
    "(pp − 1) / (m · v)",
    source="Megatron-LM, arXiv:2104.04473, section 2.2: idle over busy time, v chunks a stage",
)
def bubble(*, pp: int, m: int, v: int) -> float:
    """Idle time of a pipeline over its busy time."""
    return (pp - 1) / (m * v)


LEFT: dict[Schedule, float] = {"zb-h1": 1 / 3, "zb-h2": 0.0}
"""Of 1F1B's bubble: a third at the same memory, none at more of it (arXiv:2401.10241, section 2).
"""


def idle(run: Run) -> float:
    """Idle over busy time of a run's pipeline; idle/(idle + busy) is (pp − 1)/(m·v + pp − 1)."""
    found: float = bubble(pp=run.parallel.pp, m=run.micro_batches, v=run.vpp)
    return found * LEFT.get(run.schedule, 1.0)


def tensor_seconds(work: Amounts, run: Run, machine: Machine) -> float:
    """Of one micro-batch on one stage.

    Each sum is a reduce-scatter and an all-gather, forward and backward, and forward again where
    layers are computed again (arXiv:2205.05198, section 4.2.2).
    """
    split = run.parallel
    if split.tp == 1:
        return 0.0
    size = WIDE * work.tokens / split.cp * work.width
    one = ring_seconds(bytes=size, ranks=split.tp, rate=machine.between(split.tp, 1))
    return float((2 + run.layers_again) * 2 * work.reductions / split.pp * one)


def expert_seconds(work: Amounts, run: Run, machine: Machine) -> float:
    """All-to-alls of one micro-batch on one stage: to experts and back, forward and backward."""
    split = run.parallel
    if split.ep == 1:
        return 0.0
    mine = WIDE * work.routed / (split.tp * split.cp * split.pp)
    # Every other rank gets its share directly, so a card carries what its own device sends.
    rate = machine.link if split.ep * split.tp <= machine.node else machine.network
    return float((2 + run.layers_again) * ring_seconds(bytes=mine, ranks=split.ep, rate=rate))


def context_seconds(work: Amounts, run: Run, machine: Machine) -> float:
    """Keys and values go round the context ranks, and with their gradients backward."""
    split = run.parallel
    if split.cp == 1:
        return 0.0
    size = WIDE * work.cached / (split.tp * split.pp)
    rate = machine.between(split.cp, split.tp)
    return float((3 + run.layers_again) * ring_seconds(bytes=size, ranks=split.cp, rate=rate))


def stage_seconds(work: Amounts, run: Run, machine: Machine) -> float:
    """Of one micro-batch between stages: activations on, gradients back, for each chunk."""
    split = run.parallel
    if split.pp == 1:
        return 0.0
    size = WIDE * work.tokens * work.width / (split.tp * split.cp)
    near = split.tp * split.cp * split.dp < machine.node
    return 2 * run.vpp * size / (machine.link if near else machine.network)


def held_weights(work: Amounts, run: Run) -> float:
    """Weights of one rank before data ranks deal anything out; experts are dealt out first."""
    split = run.parallel
    dense = (work.weights - work.expert_weights) / split.tp
    return (dense + work.expert_weights / (split.ep * split.expert_rows)) / split.pp


def data_seconds(work: Amounts, run: Run, machine: Machine) -> float:
    """Of one step: gradients once, or weights for every pass of every micro-batch too.

    Each layer is an exchange of its own, so that it can hide behind the computing of others.
    """
    split = run.parallel
    ranks = split.dp * split.cp
    if ranks == 1:
        return 0.0
    held = held_weights(work, run)
    rate = machine.between(ranks, split.tp)
    hops = work.layers / split.pp * (ranks - 1) * machine.hop_seconds
    often, once = _exchanged(run)
    sizes = [*(often * run.micro_batches), *once]
    rings = (ring_seconds(bytes=size * held, ranks=ranks, rate=rate) for size in sizes)
    return len(sizes) * hops + float(sum(rings))


def _exchanged(run: Run) -> tuple[list[float], list[float]]:
    """Bytes of each weight in every all-gather or reduce-scatter of a micro-batch, and of a step.

    ZeRO, arXiv:1910.02054, section 7: gradients scattered and weights gathered once a step, or
    weights gathered forward and backward and gradients scattered for each micro-batch.
    """
    summed = [] if run.adapters else [run.gradient_bytes]
    if run.dealt == "weights":
        return [run.weight_bytes, run.weight_bytes, *summed], []
    gathered = [run.weight_bytes] if summed and run.dealt != "nothing" else summed
    return (summed, gathered) if run.dealt == "gradients" else ([], [*summed, *gathered])
