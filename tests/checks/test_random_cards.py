"""Cards that nobody wrote, of all kinds in any mixture: the blueprint says what the twin says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import HealthCheck, given, settings

from llmcalc.checks.verdict import check
from llmcalc.spec.card import Block, ModelCard, Stack
from llmcalc.spec.parts import Attention, LatentAttention, Moe, Part
from tests.strategies import cards, encoder_decoders, encoders

FEW = settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""A card with recurrences takes the twin half a second."""


def _agree(card: ModelCard) -> None:
    assert [one for one in check(_runnable(card)).checks if not one.ok] == []


def _runnable(card: ModelCard) -> ModelCard:
    """The card without what no kernel runs, and no model has."""
    # the memory-efficient kernel keeps sums of whole groups of 32 tokens
    encoder = replace(_stack(card.encoder), length=32) if card.encoder else None
    towers = tuple(
        replace(one, stack=_stack(one.stack) if one.stack else None) for one in card.towers
    )
    blocks = _blocks(card.blocks, rms=card.norm == "rms")
    return replace(card, blocks=blocks, encoder=encoder, towers=towers)


def _stack(stack: Stack) -> Stack:
    return replace(stack, blocks=_blocks(stack.blocks, rms=False))


def _blocks(blocks: Mapping[str, Block], *, rms: bool) -> dict[str, Block]:
    return {
        name: replace(one, parts=tuple(_part(part, rms=rms) for part in one.parts))
        for name, one in blocks.items()
    }


def _part(part: Part, *, rms: bool) -> Part:
    match part:
        case Attention() if part.k_eq_v and (part.cross or part.qk_norm is None or not rms):
            # keys and values would be one tensor in memory, which autograd keeps once
            return replace(part, k_eq_v=False)
        case LatentAttention():
            # a single head is a view where several are a copy
            return replace(part, num_heads=max(part.num_heads, 2))
        case Moe():
            # a grouped matmul reads rows of whole 16 bytes
            return replace(part, intermediate_size=-(-part.intermediate_size // 8) * 8)
    return part


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
