"""Compressed layer patterns mean the sequence that they came from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.catalog.huggingface.layers import compress
from llmcalc.spec.pattern import layer_names


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=120))
def test_expanding_gives_the_sequence_back(names: list[str]) -> None:
    """Any sequence of layers survives the way through its pattern."""
    assert layer_names(compress(names)) == tuple(names)


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=8), st.integers(2, 40))
def test_repetition_is_found(group: list[str], times: int) -> None:
    """A repeated group never needs more text than the group twice and a count."""
    text = " ".join(compress(group * times))
    assert len(text) <= 2 * len(" ".join(group)) + 40


@pytest.mark.parametrize(
    ("names", "patterns"),
    [
        (["dense"] * 32, ("32*dense",)),
        (["dense"] * 3 + ["moe"] * 58, ("3*dense", "58*moe")),
        ((["local"] * 5 + ["global"]) * 10 + ["local"] * 2, ("10*(5*local global)", "2*local")),
        (["local", "global"] * 18, ("18*(local global)",)),
        (["dense", "moe"], ("dense", "moe")),
    ],
)
def test_known_models_read_well(names: list[str], patterns: tuple[str, ...]) -> None:
    """The patterns of well-known models are the ones in the design."""
    assert compress(names) == patterns


def test_long_sequences_stay_cheap() -> None:
    """Ten thousand layers without a period are compressed and mean the same."""
    names = ["ab"[(i * i) % 7 % 2] for i in range(10_000)]
    assert layer_names(compress(names)) == tuple(names)
