"""Seconds that ranks exchange data in a step, of each kind of parallelism."""

from __future__ import annotations

from llmcalc.engines.steptime.amounts import WIDE, Amounts
from llmcalc.engines.steptime.collectives import Group, gather_seconds, reduce_seconds
from llmcalc.engines.steptime.run import Machine, Run, Schedule
from llmcalc.formula import about, formula, record_sum


@formula(
    "bytes · (parts − 1) / (parts · rate)",
    source="an all-to-all: of the bytes of a rank, the share for its own part stays",
    unit="seconds",
    basis="modelled",
)
def exchange_seconds(*, bytes: float, parts: int, rate: float) -> float:
    """Of bytes that go to so many parts alike: the ranks of a node, or nodes."""
    return bytes * (parts - 1) / (parts * rate)


@formula(
    "times · one", source="forward, backward, and again where layers are computed again",
    unit="seconds", basis="modelled",
)  # fmt: skip
def repeated_seconds(*, times: float, one: float) -> float:
    """Of an exchange that is made so often for one micro-batch."""
    return times * one


@formula(
    "times · max(near, far)", source="link and network work at once", unit="seconds",
    basis="modelled",
)  # fmt: skip
def dispatch_seconds(*, times: float, near: float, far: float) -> float:
    """Of tokens on their way to experts and back."""
    return times * max(near, far)


@formula(
    "2 · pieces · bytes / rate", source="activations on and gradients back, piece by piece",
    unit="seconds", basis="modelled",
)  # fmt: skip
def passing_seconds(*, pieces: int, bytes: float, rate: float) -> float:
    """Of one micro-batch between two stages."""
    return 2 * pieces * bytes / rate


@formula(
    "layers · (gathers · gather + sums · (scatter + sum_over_copies))",
    source="ZeRO, arXiv:1910.02054, section 7, layer by layer",
    unit="seconds",
    basis="modelled",
)
def dealt_seconds(
    *, layers: float, gathers: float, gather: float, sums: float, scatter: float,
    sum_over_copies: float,
) -> float:  # fmt: skip
    """Of weights that are gathered and gradients that are summed and scattered in a step."""
    return layers * (gathers * gather + sums * (scatter + sum_over_copies))


@formula(
    "(pp − 1) / (m · v)",
    source="Megatron-LM, arXiv:2104.04473, section 2.2: idle over busy time, v chunks a stage",
)
def bubble(*, pp: int, m: int, v: int) -> float:
    """Idle time of a pipeline over its busy time."""
    return (pp - 1) / (m * v)


@formula(
    "max(0, pp / 2 − 1) · 2 / (3 · m)",
    source="DualPipe: DeepSeek-V3, arXiv:2412.19437, table 2: (PP/2 − 1)(F&B + B − 3W) beside "
    "m(F + B); B = 2F = 2W and F&B = F + B",
)
def dual_bubble(*, pp: int, m: int) -> float:
    """Idle over busy time where micro-batches enter a pipeline at both ends."""
    return max(0, pp / 2 - 1) * 2 / (3 * m)


LEFT: dict[Schedule, float] = {"zb-h1": 1 / 3, "zb-h2": 0.0}
"""Of 1F1B's bubble: a third at the same memory, none at more of it (arXiv:2401.10241, section 2).
"""


def idle(run: Run) -> float:
    """Idle over busy time of a run's pipeline; idle/(idle + busy) is (pp − 1)/(m·v + pp − 1)."""
    if run.schedule == "dualpipe":
        return float(dual_bubble(pp=run.parallel.pp, m=run.micro_batches))
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
    one = gather_seconds(size, Group(ranks=split.tp), machine)
    times = (2 + run.layers_again) * 2 * work.reductions / split.pp
    with about("tensor"):
        seconds: float = repeated_seconds(times=times, one=one)
    return seconds


def expert_seconds(work: Amounts, run: Run, machine: Machine) -> float:
    """All-to-alls of one micro-batch on one stage: to experts and back, forward and backward.

    The link and the network work at once. Where routing keeps a token to some nodes, one copy
    crosses to each and goes on from there by the link (DeepSeek-V3, arXiv:2412.19437, section
    3.2.2); else each of its copies goes straight to its expert.
    """
    split = run.parallel
    if split.ep == 1:
        return 0.0
    ranks = Group(ranks=split.ep * split.expert_rows)
    nodes = ranks.nodes(machine)
    once = WIDE * work.carried / (split.tp * split.cp * split.pp)
    near: float = exchange_seconds(
        bytes=once * work.top_k, parts=ranks.each(machine), rate=ranks.within(machine)
    )
    far: float = exchange_seconds(
        bytes=once * _crossing(work, nodes), parts=nodes, rate=machine.network
    )
    with about("expert"):
        seconds: float = dispatch_seconds(times=2 + run.layers_again, near=near, far=far)
    return seconds


def _crossing(work: Amounts, nodes: int) -> float:
    """Copies of a token on the network."""
    if work.groups == 1:
        return work.top_k
    return min(work.top_k, nodes, max(1, nodes / work.groups) * work.top_groups)


def context_seconds(work: Amounts, run: Run, machine: Machine) -> float:
    """Keys and values go round the context ranks, and with their gradients backward."""
    split = run.parallel
    if split.cp == 1:
        return 0.0
    size = WIDE * work.cached / (split.tp * split.pp)
    layers = work.layers / split.pp
    one = gather_seconds(size / layers, Group(ranks=split.cp, stride=split.tp), machine)
    with about("context"):
        seconds: float = repeated_seconds(times=(3 + run.layers_again) * layers, one=one)
    return seconds


def stage_seconds(work: Amounts, run: Run, machine: Machine) -> float:
    """Of one micro-batch between stages: activations on, gradients back, for each chunk."""
    split = run.parallel
    if split.pp == 1:
        return 0.0
    size = WIDE * work.tokens * work.width / (split.tp * split.cp)
    next_to = Group(ranks=2, stride=split.tp * split.cp * split.dp)
    with about("stage"):
        seconds: float = passing_seconds(pieces=run.vpp, bytes=size, rate=next_to.rate(machine))
    return seconds


def held_weights(work: Amounts, run: Run) -> float:
    """Weights of one rank before data ranks deal anything out; experts are dealt out first."""
    return sum(held for held, _, _ in _pools(work, run))


def trained_weights(work: Amounts, run: Run) -> float:
    """Of those the ones that are stepped; adapters are cut as what they stand beside."""
    split = run.parallel
    return run.trained / (split.tp * split.pp) if run.adapters else held_weights(work, run)


def data_seconds(work: Amounts, run: Run, machine: Machine) -> float:
    """Of one step: gradients once, or weights for every pass of every micro-batch too.

    Each layer is an exchange of its own, so that it can hide behind the computing of others. Copies
    of what is dealt out (HSDP; with nothing dealt out every rank is one) sum their shares of the
    gradients as often as those are scattered.
    """
    found = {
        name: _pool_seconds(name, pool, work, run, machine)
        for name, pool in zip(("dense", "experts"), _pools(work, run), strict=False)
    }
    if any(found.values()):
        record_sum("exchanges", found, "seconds", "modelled")
    return sum(found.values())


Pool = tuple[float, int, int]
"""Weights of one rank, ranks that hold the same, and how far from one another these are."""


def _pools(work: Amounts, run: Run) -> tuple[Pool, ...]:
    """Dense weights and experts, which fewer ranks hold alike; one pool where they are as many."""
    split = run.parallel
    dense, experts = work.weights - work.expert_weights, work.expert_weights
    ranks, rows = split.dp * split.cp, split.expert_rows
    if split.ep == 1:
        return (((dense / split.tp + experts / rows) / split.pp, ranks, split.tp),)
    span = split.ep * rows
    return (
        (dense / split.tp / split.pp, ranks, split.tp),
        (experts / span / split.pp, max(1, split.expert_ranks // span), span),
    )


def _pool_seconds(name: str, pool: Pool, work: Amounts, run: Run, machine: Machine) -> float:
    held, ranks, stride = pool
    copies = ranks if run.dealt == "nothing" else min(ranks, run.replicate)
    sharers = Group(ranks=ranks // copies, stride=stride)
    others = Group(ranks=copies, stride=stride * sharers.ranks)
    layers = work.layers / run.parallel.pp
    summed = held
    if run.adapters:  # they are all in one pool
        summed = trained_weights(work, run) if name == "dense" else 0.0
    size = run.gradient_bytes * summed / layers
    with about(f"gather_of_{name}"):
        gather = gather_seconds(run.weight_bytes * held / layers, sharers, machine)
    with about(f"scatter_of_{name}"):
        scatter = gather_seconds(size, sharers, machine)
    with about(f"sum_of_{name}_over_copies"):
        over_copies = reduce_seconds(size / sharers.ranks, others, machine)
    with about(name):
        seconds: float = dealt_seconds(
            layers=layers, gathers=_gathers(run), gather=gather, sums=_sums(run), scatter=scatter,
            sum_over_copies=over_copies,
        )  # fmt: skip
    return seconds


def _sums(run: Run) -> int:
    """Sums of each gradient in a step."""
    return run.micro_batches if run.dealt in {"gradients", "weights"} else 1


def behind(run: Run) -> int:
    """Of how many micro-batches one alone has the exchanges of data ranks to hide.

    What is exchanged once a step waits for the last micro-batch's gradients.
    """
    return run.micro_batches if run.dealt in {"nothing", "optimizer"} else 1


def _gathers(run: Run) -> int:
    """All-gathers of each weight in a step (ZeRO, arXiv:1910.02054, section 7).

    Forward and backward for each micro-batch, or once what each rank has updated.
    """
    if run.dealt == "weights":
        return 2 * run.micro_batches
    return 0 if run.adapters or run.dealt == "nothing" else 1
