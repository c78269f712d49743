"""Rules between the fields of a card or a spec, which a type cannot say: one function a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from llmcalc.catalog.rules_of_cards import (
    causal_agrees,
    encoder_agrees,
    head_agrees,
    tensors_are_sane,
    towers_are_whole,
)
from llmcalc.catalog.rules_of_gpus import memory_agrees, memory_is_known
from llmcalc.catalog.rules_of_layers import (
    blocks_exist,
    layers_name_blocks,
    mtp_block_exists,
    only_attention_looks_both_ways,
    reused_caches_exist,
)
from llmcalc.catalog.rules_of_parts import (
    chunks_have_a_size,
    cross_sees_all,
    experts_suffice,
    heads_divide,
    keys_can_be_values,
    recurrent_heads_divide,
    rotary_fits,
)
from llmcalc.catalog.walk import Broken
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec


def broken(value: object) -> Iterator[Broken]:
    """Every rule that a card or a spec breaks."""
    if isinstance(value, ModelCard):
        for rule in CARD_RULES:
            yield from rule(value)
    elif isinstance(value, GpuSpec):
        for gpu_rule in GPU_RULES:
            yield from gpu_rule(value)


CARD_RULES: tuple[Callable[[ModelCard], Iterator[Broken]], ...] = (
    blocks_exist,
    heads_divide,
    rotary_fits,
    keys_can_be_values,
    chunks_have_a_size,
    cross_sees_all,
    experts_suffice,
    recurrent_heads_divide,
    layers_name_blocks,
    mtp_block_exists,
    reused_caches_exist,
    only_attention_looks_both_ways,
    head_agrees,
    encoder_agrees,
    causal_agrees,
    towers_are_whole,
    tensors_are_sane,
)
GPU_RULES: tuple[Callable[[GpuSpec], Iterator[Broken]], ...] = (
    memory_is_known,
    memory_agrees,
)
