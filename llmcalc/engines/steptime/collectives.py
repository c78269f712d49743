"""Seconds of one collective, over the devices of a node or of many, as NCCL runs it.

Of ranks in a row a node holds some; rings run over each of its network cards at once, so that the
across-node part has the bandwidth of all its cards, the part within the node that of the link.
Latency grows with every rank of a ring, with the logarithm of the nodes in a tree. NCCL takes what
it foresees to be the faster: so do we, with its own constants (src/graph/tuning.cc, 2.30).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from llmcalc.engines.steptime.run import Machine
from llmcalc.formula import formula

PAT_RATE, TREE_RATE = 0.75, 0.92
"""Of a ring's bandwidth, as NCCL foresees it."""


@formula(
    "bytes · (ranks − 1) / (ranks · rate) + (ranks − nodes) · near + (nodes − 1) · far",
    source="ring all-gather or reduce-scatter (Patarasuk and Yuan 2009); latencies: NCCL tuning.cc",
    unit="seconds",
    basis="modelled",
)
def ring_seconds(
    *, bytes: float, ranks: int, nodes: int, rate: float, near: float, far: float
) -> float:
    """Each rank sends to the next, `near` in its node or `far` to another."""
    return bytes * (ranks - 1) / (ranks * rate) + (ranks - nodes) * near + (nodes - 1) * far


@formula(
    "bytes · (ranks − 1) / (ranks · rate · 0.75) + hops · far / 3.5 + ranks · 2.8e-6",
    source="parallel aggregated trees (PAT, arXiv:2506.20252); NCCL 2.23 and later, tuning.cc",
    unit="seconds",
    basis="modelled",
)
def pat_seconds(*, bytes: float, ranks: int, hops: float, rate: float, far: float) -> float:
    """All-gather or reduce-scatter where each rank has a node of its own; hops = log2(nodes)."""
    return bytes * (ranks - 1) / (ranks * rate * PAT_RATE) + hops * far / 3.5 + ranks * 2.8e-6


@formula(
    "2 · bytes / (rate · 0.92) + 2 · ((each − 1) · near + hops · far)",
    source="double binary trees of all-reduce, NCCL 2.4 and later, tuning.cc",
    unit="seconds",
    basis="modelled",
)
def tree_seconds(
    *, bytes: float, each: int, hops: float, rate: float, near: float, far: float
) -> float:
    """Up a chain of `each` ranks of a node and a tree of nodes, and down; hops = log2(nodes)."""
    return 2 * bytes / (rate * TREE_RATE) + 2 * ((each - 1) * near + hops * far)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Ranks that exchange data, each `stride` devices from the next."""

    ranks: int
    stride: int = 1

    def each(self, machine: Machine) -> int:
        """Of them in one node."""
        return min(self.ranks, max(1, machine.node // self.stride))

    def nodes(self, machine: Machine) -> int:
        """That they lie in."""
        return -(-self.ranks // self.each(machine))

    def rate(self, machine: Machine) -> float:
        """Bytes a second that a ring gets through: the link's, or that of a node's cards.

        Where several groups cross the same nodes, each has the cards of its own members.
        """
        if self.nodes(machine) == 1:
            return self.within(machine)
        if self.each(machine) == 1:
            return machine.network
        return min(self.within(machine), self.each(machine) * machine.network)

    def within(self, machine: Machine) -> float:
        """Bytes a second between its members in one node."""
        span = (self.each(machine) - 1) * self.stride + 1
        return machine.link if span <= machine.linked else machine.bus


def gather_seconds(size: float, group: Group, machine: Machine) -> float:
    """Of an all-gather to so many bytes on each rank, or a reduce-scatter of them."""
    if group.ranks == 1:
        return 0.0
    nodes, rate = group.nodes(machine), group.rate(machine)
    ring: float = ring_seconds(
        bytes=size, ranks=group.ranks, nodes=nodes, rate=rate, near=machine.near, far=machine.far
    )
    if nodes < group.ranks:
        return ring
    hops = log2(nodes)
    pat: float = pat_seconds(bytes=size, ranks=nodes, hops=hops, rate=rate, far=machine.far)
    return min(ring, pat)


def reduce_seconds(size: float, group: Group, machine: Machine) -> float:
    """Of an all-reduce of so many bytes: a ring's scatter and gather, or a tree."""
    if group.ranks == 1:
        return 0.0
    nodes, rate = group.nodes(machine), group.rate(machine)
    ring: float = ring_seconds(
        bytes=size, ranks=group.ranks, nodes=nodes, rate=rate, near=machine.near, far=machine.far
    )
    tree: float = tree_seconds(
        bytes=size, each=group.each(machine), hops=log2(nodes), rate=rate, near=machine.near,
        far=machine.far,
    )  # fmt: skip
    return min(2 * ring, tree)
