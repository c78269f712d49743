"""Layer patterns mean what a naive reading of them means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.spec.pattern import LONGEST, PatternError, layer_names

Tree = str | tuple[int, list["Tree"]] | tuple[int, str]

NAMES = st.sampled_from(["dense", "moe", "local", "global_", "a.b", "x-1"])
COUNTS = st.integers(1, 4)
TREES = st.recursive(
    NAMES | st.tuples(COUNTS, NAMES),
    lambda inner: st.tuples(COUNTS, st.lists(inner, min_size=1, max_size=3)),
    max_leaves=8,
)


def text(tree: Tree) -> str:
    """The pattern that says `tree`."""
    if isinstance(tree, str):
        return tree
    times, inside = tree
    return f"{times}*{inside}" if isinstance(inside, str) else f"{times}*({spelled(inside)})"


def spelled(trees: list[Tree]) -> str:
    return " ".join(text(tree) for tree in trees)


def meaning(tree: Tree) -> list[str]:
    """The layers of `tree`, one after another, without any cleverness."""
    if isinstance(tree, str):
        return [tree]
    times, inside = tree
    layers: list[str] = []
    for _ in range(times):
        for one in [inside] if isinstance(inside, str) else inside:
            layers += meaning(one)
    return layers


@given(st.lists(TREES, min_size=1, max_size=4))
def test_a_pattern_means_its_naive_expansion(trees: list[Tree]) -> None:
    expected = [name for tree in trees for name in meaning(tree)]
    assert layer_names((spelled(trees),)) == tuple(expected)


def test_patterns_of_a_list_follow_each_other() -> None:
    assert layer_names(("3*dense", "2*moe")) == ("dense", "dense", "dense", "moe", "moe")


def test_gemma_pattern_has_one_global_layer_after_five_local_ones() -> None:
    layers = layer_names(("10*(5*local global)", "2*local"))
    assert len(layers) == 62
    assert [at for at, name in enumerate(layers) if name == "global"][:3] == [5, 11, 17]


@given(st.text(alphabet="ab( )*12_", max_size=30))
def test_any_text_is_layers_or_a_pattern_error(pattern: str) -> None:
    try:
        layers = layer_names((pattern,))
    except PatternError as error:
        assert str(error)
    else:
        assert 1 <= len(layers) <= LONGEST


@pytest.mark.parametrize(
    "pattern",
    ["", "3*", "*a", "a)", "(a", "()", "0*a", "2*3*a", "a, b", "-1*a", "99999*a", "200*(200*a)"],
)
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        layer_names((pattern,))
