"""Collectives within a node and across nodes, by hand and by NCCL's own constants."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmcalc.catalog.find import gpu
from llmcalc.engines.steptime.collectives import Group, gather_seconds, reduce_seconds
from llmcalc.engines.steptime.machine import machine
from llmcalc.engines.steptime.run import Machine
from tests.engines.steptime.made import REACH

WIRES = Machine(
    name="m", compute=1.0, attention=1.0, bandwidth=1.0, link=1e11, node=8, linked=8, bus=2e10,
    network=1e10,
)  # fmt: skip
SLOW = replace(WIRES, near=3e-6, far=14e-6)


def test_the_cards_of_a_node_carry_what_leaves_it_together() -> None:
    """Rings over eight cards of 10 GB/s: 80 GB/s; over the two that hold the same shard: 20."""
    assert Group(ranks=8).rate(WIRES) == 1e11
    assert Group(ranks=16).rate(WIRES) == pytest.approx(8e10)
    assert Group(ranks=16, stride=4).rate(WIRES) == pytest.approx(2e10)
    assert Group(ranks=16, stride=8).rate(WIRES) == pytest.approx(1e10)
    wide = replace(WIRES, network=1e11)
    assert Group(ranks=16).rate(wide) == 1e11


def test_devices_that_no_bridge_joins_are_reached_over_the_bus() -> None:
    """Pairs by NVLink, 20 GB/s of PCIe beyond."""
    pairs = replace(WIRES, linked=2)
    assert Group(ranks=2).rate(pairs) == 1e11
    assert Group(ranks=4).rate(pairs) == 2e10
    assert Group(ranks=2, stride=4).rate(pairs) == 2e10
    assert Group(ranks=16).rate(pairs) == 2e10


def test_a_group_lies_in_as_many_nodes_as_its_ranks_take() -> None:
    assert Group(ranks=16).nodes(WIRES) == 2
    assert Group(ranks=16, stride=2).nodes(WIRES) == 4
    assert Group(ranks=16, stride=16).nodes(WIRES) == 16
    assert Group(ranks=3, stride=2).nodes(WIRES) == 1


def test_a_gather_sends_all_but_its_own_part() -> None:
    """16 GB among 16 ranks of two nodes: 15 GB at 80 GB/s."""
    assert gather_seconds(16e9, Group(ranks=16), WIRES) == pytest.approx(15 / 80)
    assert gather_seconds(16e9, Group(ranks=1), WIRES) == 0.0


def test_the_steps_of_a_ring_add_up() -> None:
    """512 ranks of 64 nodes: 448 steps of 3 us within nodes, 63 of 14 us between them."""
    assert gather_seconds(0.0, Group(ranks=512), SLOW) == pytest.approx(448 * 3e-6 + 63 * 14e-6)


def test_one_rank_a_node_gathers_by_trees_once_a_ring_takes_longer() -> None:
    """1,024 nodes: 10 rounds of 14/3.5 us and 2.8 us a rank, not 1,023 steps of 14 us."""
    trees = gather_seconds(0.0, Group(ranks=1024, stride=8), SLOW)
    assert trees == pytest.approx(10 * 4e-6 + 1024 * 2.8e-6)
    much = gather_seconds(1e12, Group(ranks=1024, stride=8), SLOW)
    assert much == pytest.approx(1e12 * 1023 / 1024 / 1e10 + 1023 * 14e-6)


def test_an_all_reduce_takes_a_tree_whose_latency_is_logarithmic() -> None:
    """8,192 ranks: twice 7 steps of 3 us and 10 rounds of 14 us; a ring of much data is wider."""
    small = reduce_seconds(0.0, Group(ranks=8192), SLOW)
    assert small == pytest.approx(2 * (7 * 3e-6 + 10 * 14e-6))
    assert reduce_seconds(8e9, Group(ranks=8), WIRES) == pytest.approx(2 * 7 / 100)


def test_latencies_are_those_of_nccl() -> None:
    """NVLink 3.4 us, PCIe 5.7 us, network 14 us (NCCL 2.30, tuning.cc, ring, Simple)."""
    linked = machine(gpu("h100"), REACH)
    assert (linked.near, linked.far) == (3.4e-6, 14e-6)
    assert machine(gpu("rtx-4090"), REACH).near == 5.7e-6
