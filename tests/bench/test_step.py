"""A decode step: what it reads, and that it computes what the model computes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from llmcalc.bench.model import cut, materialised, weight_bytes
from llmcalc.bench.step import Step
from llmcalc.spec.card import Block, ModelCard, Stack
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe
from llmcalc.spec.pattern import layer_names
from llmcalc.spec.recurrent import Mamba2
from llmcalc.twin.held import Held, Still
from llmcalc.twin.kernels import attend
from llmcalc.twin.model import ModelTwin
from llmcalc.twin.setting import Pass
from tests.bench.machine import CARD, DEVICE, ENDS, LAYER

ATTENTION = Attention(num_heads=4, num_kv_heads=2, head_dim=8)
MLP = Mlp(intermediate_size=24)


def of(*parts: Any, **more: Any) -> ModelCard:
    return replace(CARD, blocks={"one": Block(parts=parts)}, layers=("2*one",), **more)


def step(card: ModelCard, batch: int = 1, context: int = 10) -> Step:
    return Step(materialised(card, DEVICE, "bf16", "sdpa"), card, batch, context)


def test_weights_that_a_step_reads_by_hand() -> None:
    assert step(CARD).weight_bytes == 2 * (4 * LAYER + ENDS)


def test_a_tied_head_is_read_as_the_token_table() -> None:
    tied = replace(CARD, embedding=replace(CARD.embedding, tied=True))
    assert step(tied).weight_bytes == 2 * (4 * LAYER + ENDS)


def test_the_cache_that_a_step_reads_by_hand() -> None:
    """4 layers of 2 heads of 8, keys and values, two bytes each."""
    assert step(CARD, batch=3, context=10).kv_bytes == 4 * 2 * 2 * 8 * 2 * 3 * 10


def test_a_window_bounds_what_is_read() -> None:
    assert step(of(replace(ATTENTION, window=6))).kv_bytes == 2 * 2 * 2 * 8 * 2 * 6


def test_a_layer_that_reads_the_cache_of_another_reads_it_again() -> None:
    shared = replace(
        CARD,
        blocks={
            "own": Block(parts=(ATTENTION,)),
            "other": Block(parts=(replace(ATTENTION, kv_reuse=True),)),
        },
        layers=("own", "other"),
    )
    found = step(shared)
    assert found.kv_bytes == 2 * 2 * 2 * 8 * 2 * 10
    # two norms each; of the second layer neither the keys' nor the values' matrix
    assert found.weight_bytes == 2 * (2 * (2 * 512 + 32) + 2 * 256 + ENDS)


def test_a_latent_is_remembered_as_one_head() -> None:
    latent = LatentAttention(
        num_heads=2, kv_lora_rank=8, qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=8
    )
    # all but the newest token are held; that one is added on the way
    assert step(of(latent)).kv_bytes == 2 * (8 + 4) * 2 * 9


def test_a_recurrent_state_is_of_one_size() -> None:
    mamba = Mamba2(num_heads=4, head_dim=8, state_size=4, n_groups=1, conv_kernel=4)
    near, far = (step(of(mamba), context=context) for context in (4, 400))
    assert near.kv_bytes == far.kv_bytes > 0


def test_experts_are_read_as_a_random_choice_visits_them() -> None:
    """Two of four: half of them for a token, 1 − 1/2² for two."""
    moe = Moe(num_experts=4, num_experts_per_tok=2, intermediate_size=8)
    experts, router, norms = 4 * 3 * 16 * 8, 4 * 16, 2 * 16
    twin = materialised(of(moe), DEVICE, "bf16", "sdpa")
    fixed = 2 * (router + norms) + ENDS
    assert weight_bytes(twin, 1) == 2 * (fixed + 2 * experts // 2)
    assert weight_bytes(twin, 2) == 2 * (fixed + 2 * experts * 3 // 4)


def test_an_encoder_is_asked_once_and_not_at_each_step() -> None:
    encoder = Stack(blocks={"e": Block(parts=(ATTENTION,))}, layers=("e",), length=7)
    card = of(ATTENTION, replace(ATTENTION, cross=True), MLP, encoder=encoder)
    found = step(card)
    own, crossed = 2 * 2 * 8 * 10, 2 * 2 * 8 * 7
    assert found.kv_bytes == 2 * 2 * (own + crossed)
    assert torch.isfinite(found()).all()


@pytest.mark.parametrize("window", [None, 6])
def test_a_held_cache_gives_what_a_growing_one_gives(window: int | None) -> None:
    """The same prompt and token: once remembered by adding, once written into held room."""
    card = of(replace(ATTENTION, window=window), MLP)
    torch.manual_seed(3)
    twin = ModelTwin(card)
    tokens = torch.randint(32, (2, 10))
    memory: dict[int, Any] = {}
    with torch.inference_mode():
        twin(tokens[:, :9], Pass(positions=torch.arange(9), memory=memory))
        held = {number: _room(*both, window) for number, both in memory.items()}
        last, at = tokens[:, 9:], torch.tensor([9])
        grown = twin(last, Pass(positions=at, memory=memory))
        still = Still(held)
        for _ in range(3):
            torch.testing.assert_close(twin(last, Pass(positions=at, memory=still)), grown)
    assert set(map(type, still.values())) == {Held}


def _room(k: torch.Tensor, v: torch.Tensor, window: int | None) -> Held:
    """Room for one token more, which the oldest leaves where a window is full."""
    longer = [torch.cat((one, torch.full_like(one[:, :, :1], 9.0)), dim=2) for one in (k, v)]
    return Held(*(one[:, :, -window:] if window else one for one in longer))


def test_still_memory_does_not_grow() -> None:
    still = Still({1: "one"})
    still[1] = "two"
    still[2] = "three"
    assert still == {1: "one"}


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_grouped_attention_is_the_fused_one(kv_heads: int) -> None:
    torch.manual_seed(4)
    q, k = torch.randn(3, 4, 1, 8), torch.randn(3, kv_heads, 11, 8)
    v = torch.randn(3, kv_heads, 11, 6)
    ways = [attend(q, k, v, kernel=kernel) for kernel in ("grouped", "sdpa", "eager")]
    torch.testing.assert_close(ways[0], ways[1])
    torch.testing.assert_close(ways[0], ways[2])


def test_operators_are_counted_without_views() -> None:
    """Each layer calls as many: seven products and two norms at least."""
    few, many = (step(replace(CARD, layers=(f"{n}*one",))).operators() for n in (1, 3))
    assert (many - few) % 2 == 0
    assert (many - few) // 2 >= 9


def test_a_card_is_cut_to_what_fits_with_its_kinds_in_proportion() -> None:
    mixed = replace(
        CARD,
        blocks={"a": CARD.blocks["one"], "b": CARD.blocks["one"]},
        layers=("4*a", "4*b"),
    )
    room = 2 * (2 * 32 * 16 + 16 + 4 * LAYER)
    assert layer_names(cut(mixed, "bf16", room).layers) == ("a", "a", "b", "b")
    assert len(layer_names(cut(mixed, "fp32", room).layers)) < 4
    assert cut(mixed, "bf16", 1).layers == ("a",)
    assert len(cut(mixed, "bf16", 2**30).layers) == 8


def test_layers_that_read_an_absent_cache_cannot_be_run() -> None:
    lonely = of(replace(ATTENTION, kv_reuse=True))
    with pytest.raises(KeyError):
        step(lonely)


def test_materialised_weights_are_random_and_of_the_type_asked_for() -> None:
    twin = materialised(CARD, DEVICE, "bf16", "sdpa")
    for one in twin.parameters():
        assert one.dtype == torch.bfloat16
        assert one.float().std() > 0.005
