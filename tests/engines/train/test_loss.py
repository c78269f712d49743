"""Logits and loss: what torch keeps, and what public benchmarks measured."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  the usual name

import llmcalc
from llmcalc.engines.train import loss
from llmcalc.spec.framework import Losses

ROWS = Path(llmcalc.__file__).parent / "measurements" / "training_memory.tsv"
TOKENS, V, D = 32, 128, 16
KINDS: tuple[Losses, ...] = ("eager", "chunked")


def _kept(make: object) -> int:
    """Bytes of what has one number a logit among the tensors that autograd saves."""
    sizes: dict[int, int] = {}

    def pack(one: torch.Tensor) -> torch.Tensor:
        if one.numel() == TOKENS * V:
            sizes[one.untyped_storage().data_ptr()] = one.untyped_storage().nbytes()
        return one

    logits = torch.zeros(TOKENS, V, dtype=torch.bfloat16, requires_grad=True)
    labels = torch.zeros(TOKENS, dtype=torch.long)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda one: one):
        make(logits, labels)  # type: ignore[operator]
    return sum(sizes.values())


def test_the_float32_loss_keeps_its_log_softmax_beside_two_copies_of_the_logits() -> None:
    kept = _kept(lambda logits, labels: F.cross_entropy(logits.float(), labels))
    assert kept == 4 * TOKENS * V
    found = loss.forward("eager", loss.Head(TOKENS, V, D))
    assert found == kept + (2 + 4) * TOKENS * V  # 16-bit logits and their float32 copy


def test_the_16_bit_loss_keeps_two_bytes_beside_logits_and_their_shifted_copy() -> None:
    kept = _kept(F.cross_entropy)
    assert kept == 2 * TOKENS * V
    found = loss.forward("plain", loss.Head(TOKENS, V, D))
    assert found == kept + (2 + 2) * TOKENS * V


def _measured(framework: str) -> Iterator[tuple[int, int, float]]:
    """Tokens, vocabulary and bytes of rows that measured a loss alone."""
    with ROWS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["framework"] == framework and row["mem_unit"] == "MiB":
                vocabulary = int(row["model"].split("V=")[1].split()[0])
                yield int(row["seq"].split()[0]), vocabulary, float(row["mem"]) * 2**20


def test_a_fused_loss_writes_its_gradient_over_the_logits() -> None:
    """Liger on float32 logits: 4.00 bytes a logit, forward and backward; on 16-bit ones half."""
    rows = list(_measured("Liger cross_entropy"))
    assert len(rows) == 6
    for tokens, vocabulary, size in rows:
        ours = loss.backward("fused", loss.Head(tokens, vocabulary, 1))
        assert size / 2 == pytest.approx(ours, rel=0.01)


def test_more_tokens_cost_plain_torch_6_bytes_a_16_bit_logit() -> None:
    """Between 4,096 and 32,768 tokens at V = 128,256: logits, log-softmax, gradient; no shift."""
    (few, _, low), *_, (many, vocabulary, high) = _measured("HF/torch fused_linear_cross_entropy")
    found = (high - low) / ((many - few) * vocabulary)
    assert found == pytest.approx(loss.LOSSES["plain"].backward, rel=0.03)


def test_chunks_make_logits_no_larger_than_the_hidden_states() -> None:
    whole, some = (loss.at_once(kind, loss.Head(8192, 128_256, 4096)) for kind in KINDS)
    assert whole == 8192
    assert some == 262  # 8192 · 4096 / 128256, rounded up


def test_a_loss_that_projects_makes_the_head_s_gradient_itself() -> None:
    """Liger: the head, three gradients of it, hidden states with theirs, and logits of a chunk."""
    rows = list(_measured("Liger fused_linear_cross_entropy"))
    assert len(rows) == 4
    for tokens, vocabulary, size in rows:
        ours = loss.backward("linear", loss.Head(tokens, vocabulary, 4096))
        around = 2 * vocabulary * 4096 + 2 * 2 * tokens * 4096
        assert ours + around == pytest.approx(size, rel=0.1)


def test_a_cut_loss_writes_no_logit() -> None:
    """Of 16,384 tokens and 248,320 words: the head, its gradient and one more, hidden states twice.

    Published: 3.09 GB (me0736); all logits in 16 bits alone would be 8.1 GB.
    """
    tokens, vocabulary, width = 16_384, 248_320, 2048
    ours = loss.backward("cut", loss.Head(tokens, vocabulary, width))
    around = 2 * 2 * vocabulary * width + 2 * 2 * tokens * width
    assert ours + around == pytest.approx(3.09e9, rel=0.05)
    assert loss.forward("cut", loss.Head(tokens, vocabulary, width, trained=False)) == 0


def test_a_frozen_head_has_no_gradient() -> None:
    trained, frozen = (
        loss.backward("linear", loss.Head(TOKENS, V, D, trained)) for trained in (True, False)
    )
    assert trained - frozen == 3 * 2 * V * D
