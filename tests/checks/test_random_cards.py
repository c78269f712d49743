"""Cards that nobody wrote, of all kinds in any mixture: the blueprint says what the twin says."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from llmcalc.checks.verdict import check
from llmcalc.spec.card import ModelCard
from tests.strategies import cards, encoder_decoders, encoders

FEW = settings(
    max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
"""A card with recurrences takes the twin half a second."""


def _agree(card: ModelCard) -> None:
    assert [one for one in check(card).checks if not one.ok] == []


@FEW
@given(cards())
def test_a_random_decoder_agrees(card: ModelCard) -> None:
    _agree(card)


@FEW
@given(encoder_decoders())
def test_a_random_encoder_decoder_agrees(card: ModelCard) -> None:
    _agree(card)


@FEW
@given(encoders())
def test_a_random_encoder_agrees(card: ModelCard) -> None:
    _agree(card)
