"""Kept bytes of layers against the formulas of Korthikanti et al. (arXiv:2205.05198)."""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.api.plans import Asked, plan
from llmcalc.blueprint import lower
from llmcalc.blueprint.operations import Section
from llmcalc.catalog.find import card
from llmcalc.engines.train.activations import kept, layer_bytes, stream_bytes

S, H, A = 2048, 12288, 96
"""Sequence, hidden size and heads of GPT-3 175B, whose layer the paper counts."""
DROPOUT = 2
"""Bytes of s·b·h that the paper's two dropout masks on the stream take; we train without."""


def _layer(name: str = "gpt3-175b") -> Section:
    (layer,) = (one for one in lower(card(name), training=True).sections if one.kind == "layer")
    return layer


def _of_sbh(**asked: Any) -> float:
    """Bytes that one layer of GPT-3 keeps, over s·b·h, the float32 sums of norms apart."""
    chosen = plan(Asked(seq=S, **asked))
    found = layer_bytes(_layer(), chosen)
    sums = 2 * 8 * S  # a mean and a deviation for each row of two norms, which the paper leaves out
    if asked.get("kernels") != "eager":
        sums += 4 * A * S // chosen.parallel.tp + 24  # log-sum-exp and random state of flash
    return (found - sums) / (S * H)


def test_a_layer_keeps_34_sbh_and_5_as_over_h_without_dropout() -> None:
    """Equation 1 has 34 + 5·a·s/h: softmax 2, its dropout mask 1 and its output 2.

    Without dropout the mask is not there; our softmax is kept in float32 and its copy in 16 bits.
    """
    assert _of_sbh(kernels="eager") == pytest.approx(34 - DROPOUT + (4 + 2) * A * S / H, rel=1e-4)


def test_selective_recomputation_leaves_34_sbh() -> None:
    """Table 2: what is proportional to s² is computed again."""
    found = _of_sbh(kernels="eager", recompute="selective")
    # Repeated keys and values stay; one head each, so they are the keys and values themselves.
    assert found == pytest.approx(34 - DROPOUT, rel=1e-4)


@pytest.mark.parametrize("t", [2, 4, 8])
def test_tensor_parallelism_divides_24_of_34(t: int) -> None:
    """Equation 2: 10 + 24/t; the ten are two norms, two inputs of parts and two dropout masks."""
    found = _of_sbh(kernels="sdpa", tp=t, gpus=t, sp=False)
    assert found == pytest.approx(10 - DROPOUT + 24 / t, rel=1e-3)


@pytest.mark.parametrize("t", [2, 4, 8])
def test_sequence_parallelism_divides_all_of_it(t: int) -> None:
    """Equation 4: 34/t."""
    found = _of_sbh(kernels="sdpa", tp=t, gpus=t, sp=True)
    assert found == pytest.approx((34 - DROPOUT) / t, rel=1e-3)


def test_full_recomputation_keeps_2_sbh_of_each_layer() -> None:
    """Table 2, last row: 2·s·b·h a layer."""
    chosen = plan(Asked(seq=S, micro_batch=3, recompute="full"))
    assert stream_bytes(_layer(), chosen) == 2 * S * 3 * H


def test_every_other_layer_keeps_half_the_inputs() -> None:
    whole = lower(card("gpt3-175b"), training=True)
    layers = whole._replace(sections=(_layer(),))
    one = kept(layers, plan(Asked(seq=S, recompute="full")))
    two = kept(layers, plan(Asked(seq=S, recompute="full", every=2)))
    assert (one, two) == (96 * 2 * S * H, 48 * 2 * S * H)


def test_context_ranks_share_the_tokens_of_a_sequence() -> None:
    assert _of_sbh(kernels="sdpa", cp=4, gpus=4) == pytest.approx((34 - DROPOUT) / 4, rel=1e-2)


def test_busy_experts_keep_more_of_what_they_are_visited_for() -> None:
    layer = _layer("mixtral-8x7b")
    even, busy = (
        layer_bytes(layer, plan(Asked(kernels="fused", imbalance=factor))) for factor in (1.0, 1.5)
    )
    # Rows and outputs of two visits 2 · 2 · d_x each, and three tensors of 2 · d_e each, 16 bits.
    rows = 2 * 2048 * (2 * (2 * 4096) + 3 * 2 * 14336)
    # Shares, tokens, order and way back of each row: 2 + 8 + 8 + 8 bytes a visit.
    assert busy - even == pytest.approx(0.5 * (rows + 2048 * 2 * 26), rel=0.01)
