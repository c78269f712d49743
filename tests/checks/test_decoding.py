"""The twin is a real model: token by token with its memory it says what it says all at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from llmcalc.spec.card import Block, ModelCard, Stack
from llmcalc.spec.parts import Attention, Indexer, LatentAttention, Mlp, Moe, Part
from llmcalc.twin.model import ModelTwin
from llmcalc.twin.setting import Kernel, Pass
from tests.checks.parts import MLP, PARTS, card

TOKENS, FIRST = 12, 5
ATTENTION = Attention(num_heads=4, num_kv_heads=2, head_dim=8)
LATENT = LatentAttention(
    num_heads=2, kv_lora_rank=8, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=16
)
MOE = Moe(num_experts=4, num_experts_per_tok=2, intermediate_size=8)

MIXERS: dict[str, Part] = {
    **{
        kind.__name__: part
        for kind, (part, _) in PARTS.items()
        if kind not in {LatentAttention, Mlp, Moe}
    },
    "multi-query": replace(ATTENTION, num_kv_heads=1),
    "window": replace(ATTENTION, window=4),
    "window of one": replace(ATTENTION, window=1),
    "norms of heads": replace(ATTENTION, qk_norm="head"),
    "norm of all": replace(ATTENTION, qk_norm="full"),
    "sinks": replace(ATTENTION, sinks=True),
    "sinks in a window": replace(ATTENTION, sinks=True, window=4),
    "gate": replace(ATTENTION, output_gate=True),
    "relative": replace(ATTENTION, relative_buckets=4, rotary_dim=0),
    "keys are values": replace(ATTENTION, k_eq_v=True),
    "partly rotary": replace(ATTENTION, rotary_dim=4),
    "wide values": replace(ATTENTION, v_head_dim=16),
    "latent": LATENT,
    # few heads would score many tokens with nothing, and leave the choice among them to chance
    "sparse": replace(LATENT, indexer=Indexer(num_heads=16, head_dim=8, topk=3)),
    "sparse with a latent query": replace(
        LATENT, q_lora_rank=8, indexer=Indexer(num_heads=16, head_dim=8, topk=3)
    ),
}
FEEDS: dict[str, Part] = {
    "mlp": MLP,
    "experts": MOE,
    "everything": replace(
        MOE, shared_intermediate_size=8, shared_gate=True, router_bias=True, expert_bias=True,
        correction_bias=True,
    ),
    "ungated": replace(MOE, gated=False),
    "latent experts": replace(MOE, latent_size=8),
    "zero experts": replace(MOE, zero_experts=2, num_experts_per_tok=3),
}  # fmt: skip


def _twin(of: ModelCard, kernel: Kernel = "sdpa") -> ModelTwin:
    torch.manual_seed(7)
    twin = ModelTwin(of, kernel=kernel).eval()
    for parameter in twin.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return twin


def _tokens(of: ModelCard) -> torch.Tensor:
    torch.manual_seed(8)
    return torch.randint(0, of.vocab_size, (2, TOKENS))


def _step_by_step(twin: ModelTwin, tokens: torch.Tensor, **more: Any) -> torch.Tensor:
    """A prompt at once, then one token after the other."""
    memory: dict[int, Any] = {}
    ranges = [range(FIRST), *(range(at, at + 1) for at in range(FIRST, TOKENS))]
    out = []
    for places in ranges:
        run = Pass(positions=torch.tensor(list(places)), memory=memory, **more)
        out.append(twin(tokens[:, places.start : places.stop], run))
    return torch.cat(out, dim=1)


def _same(of: ModelCard, kernel: Kernel = "sdpa") -> None:
    twin, tokens = _twin(of, kernel), _tokens(of)
    with torch.no_grad():
        whole, steps = twin(tokens), _step_by_step(twin, tokens)
    assert whole.shape == (2, TOKENS, of.vocab_size)
    assert whole.std() > 0.01
    torch.testing.assert_close(steps, whole, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", MIXERS)
def test_a_mixer_decodes_as_it_reads(name: str) -> None:
    _same(card(MIXERS[name], MLP))


@pytest.mark.parametrize("name", FEEDS)
def test_a_feed_forward_part_decodes_as_it_reads(name: str) -> None:
    _same(card(ATTENTION, FEEDS[name]))


def test_every_mixer_is_among_those_that_decode() -> None:
    assert {type(part) for part in MIXERS.values()} == set(PARTS) - {Mlp, Moe}


@pytest.mark.parametrize("placement", ["pre", "post", "output", "sandwich", "parallel"])
def test_every_placement_of_norms_decodes_as_it_reads(placement: Any) -> None:
    norms = 4 if placement == "sandwich" else 2
    block = Block(parts=(ATTENTION, MLP), norms=norms, placement=placement)
    _same(card(blocks={"one": block}))


def test_a_layer_that_reads_another_cache_decodes_as_it_reads() -> None:
    blocks = {
        "own": Block(parts=(ATTENTION, MLP)),
        "borrowed": Block(parts=(replace(ATTENTION, kv_reuse=True), MLP)),
    }
    _same(card(blocks=blocks, layers=("own", "2*borrowed")))


def test_a_decoder_remembers_what_its_encoder_said() -> None:
    seen = Stack(blocks={"seen": Block(parts=(ATTENTION, MLP))}, layers=("2*seen",))
    of = card(ATTENTION, replace(ATTENTION, cross=True), MLP, encoder=seen)
    twin, tokens = _twin(of), _tokens(of)
    torch.manual_seed(9)
    encoded = torch.randn(2, 6, 16)
    with torch.no_grad():
        whole = twin(tokens, Pass(positions=torch.arange(TOKENS), encoded=encoded))
        steps = _step_by_step(twin, tokens, encoded=encoded)
        other = twin(tokens, Pass(positions=torch.arange(TOKENS), encoded=encoded + 1))
    torch.testing.assert_close(steps, whole, rtol=1e-3, atol=1e-3)
    assert not torch.allclose(other, whole)


@pytest.mark.parametrize(
    "name", [name for name, part in MIXERS.items() if part.kind in {"attn", "mla"}]
)
def test_eager_and_fused_attention_say_the_same(name: str) -> None:
    of = card(MIXERS[name], MLP)
    with torch.no_grad():
        eager, fused = (_twin(of, kernel)(_tokens(of)) for kernel in ("eager", "sdpa"))  # type: ignore[arg-type]
    torch.testing.assert_close(eager, fused, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", MIXERS)
def test_no_token_sees_a_later_one(name: str) -> None:
    of = card(MIXERS[name], MLP)
    twin, tokens = _twin(of), _tokens(of)
    changed = tokens.clone()
    changed[:, FIRST:] = (changed[:, FIRST:] + 1) % of.vocab_size
    with torch.no_grad():
        before, after = twin(tokens), twin(changed)
    torch.testing.assert_close(before[:, :FIRST], after[:, :FIRST], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(before[:, FIRST:], after[:, FIRST:])


def test_an_encoder_sees_both_ways() -> None:
    of = card(ATTENTION, MLP, causal=False)
    twin, tokens = _twin(of), _tokens(of)
    changed = tokens.clone()
    changed[:, -1] = (changed[:, -1] + 1) % of.vocab_size
    with torch.no_grad():
        assert not torch.allclose(twin(tokens)[:, 0], twin(changed)[:, 0])
