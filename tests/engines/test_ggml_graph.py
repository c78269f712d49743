"""The allocator by hand: holes, neighbours, and tensors that overwrite their input."""

from __future__ import annotations

from llmcalc.engines.ggml_graph import Arena, Graph


def test_the_tightest_hole_is_taken_and_neighbours_join() -> None:
    arena = Arena()
    blocks = [arena.take(size) for size in (64, 32, 128, 32)]
    arena.give(blocks[0])
    arena.give(blocks[2])
    assert arena.take(50) == (0, 64)
    assert arena.peak == 256
    arena.give(blocks[1])
    arena.give((0, 64))
    assert arena.take(224) == (0, 224)
    assert arena.peak == 256


def test_a_hole_too_small_counts() -> None:
    """64 in, 64 out of it; then the first is free, but 96 do not fit: 64 + 64 + 96."""
    graph = Graph()
    out = graph.op(64, graph.input(64))
    graph.op(96, out)
    assert graph.peak() == 64 + 64 + 96


def test_an_operation_overwrites_an_input_used_nowhere_else() -> None:
    graph = Graph()
    first = graph.op(64)
    graph.op(64, first, inplace=True)
    assert graph.peak() == 64
    graph.use(first)
    assert graph.peak() == 128


def test_an_input_without_use_stays() -> None:
    graph = Graph()
    graph.input(64)
    used = graph.input(32)
    graph.op(32, graph.op(32, used))
    assert graph.peak() == 64 + 32 + 32
