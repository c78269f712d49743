"""Random valid model cards of every kind, and small ones for calculations by hand."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from llmcalc.spec.card import Block, Embedding, ModelCard, Mtp, Tensor
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe, Part

# A slow machine is no failure.
settings.register_profile("no clock", deadline=None)
settings.load_profile("no clock")

SMALL = st.integers(1, 12)


def small_card(*parts: Part, d: int = 8, vocab: int = 10, times: int = 1, **more: Any) -> ModelCard:
    """One kind of layer, `times` of it, without norms unless `norms` says so."""
    norms = more.pop("norms", 0)
    asked: dict[str, Any] = {
        "name": "small",
        "family": "test",
        "source": "by hand",
        "hidden_size": d,
        "vocab_size": vocab,
        "blocks": {"one": Block(parts=parts, norms=norms)},
        "layers": (f"{times}*one",),
        "final_norm": False,
        "head": False,
    }
    return ModelCard(**(asked | more))


@st.composite
def attentions(draw: st.DrawFn) -> Attention:
    """Multi-head, grouped-query and multi-query, with any of the extras."""
    h_kv = draw(st.sampled_from([1, 2, 3, 4, 8]))
    return Attention(
        num_heads=h_kv * draw(st.sampled_from([1, 2, 4, 7])),
        num_kv_heads=h_kv,
        head_dim=draw(st.sampled_from([8, 10, 16])),
        v_head_dim=draw(st.sampled_from([None, 8, 12])),
        qkv_bias=draw(st.booleans()),
        o_bias=draw(st.booleans()),
        qk_norm=draw(st.sampled_from([None, "head", "full"])),
        sinks=draw(st.booleans()),
        output_gate=draw(st.booleans()),
        window=draw(st.none() | st.integers(1, 600)),
    )


@st.composite
def latent_attentions(draw: st.DrawFn) -> LatentAttention:
    """MLA with and without a low-rank query projection."""
    return LatentAttention(
        num_heads=draw(st.sampled_from([1, 2, 4, 6])),
        q_lora_rank=draw(st.none() | st.integers(8, 24)),
        kv_lora_rank=draw(st.integers(8, 24)),
        qk_nope_head_dim=draw(st.integers(2, 12)),
        qk_rope_head_dim=draw(st.integers(1, 8)),
        v_head_dim=draw(st.integers(2, 12)),
    )


@st.composite
def mlps(draw: st.DrawFn) -> Mlp:
    """Gated and plain."""
    return Mlp(
        intermediate_size=draw(st.sampled_from([16, 24, 60])),
        gated=draw(st.booleans()),
        bias=draw(st.booleans()),
    )


@st.composite
def moes(draw: st.DrawFn) -> Moe:
    """Routed experts with any of the extras."""
    experts = draw(st.sampled_from([2, 4, 6, 8]))
    shared = draw(st.sampled_from([0, 16, 24]))
    return Moe(
        num_experts=experts,
        num_experts_per_tok=draw(st.integers(1, experts)),
        intermediate_size=draw(st.sampled_from([8, 12, 24])),
        shared_intermediate_size=shared,
        shared_gate=bool(shared) and draw(st.booleans()),
        gated=draw(st.booleans()),
        router_bias=draw(st.booleans()),
        expert_bias=draw(st.booleans()),
        correction_bias=draw(st.booleans()),
    )


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    """A mixer and one or two feed-forward parts."""
    mixer = draw(st.one_of(attentions(), latent_attentions()))
    feeds = draw(st.lists(st.one_of(mlps(), moes()), min_size=1, max_size=2))
    return Block(parts=(mixer, *feeds), norms=draw(st.integers(0, 4)))


@st.composite
def cards(draw: st.DrawFn) -> ModelCard:
    """Any valid card: one to three kinds of layers in a random pattern."""
    names = ("alpha", "beta", "gamma")[: draw(st.integers(1, 3))]
    head = draw(st.booleans())
    embedding = Embedding(
        tied=head and draw(st.booleans()),
        positions=draw(st.sampled_from([0, 40])),
        types=draw(st.sampled_from([0, 2])),
        norm=draw(st.booleans()),
        dim=draw(st.sampled_from([None, None, 16])),
    )
    return ModelCard(
        name="random",
        family="test",
        source="hypothesis",
        hidden_size=draw(st.sampled_from([16, 24, 40])),
        vocab_size=draw(st.integers(1, 300)),
        norm=draw(st.sampled_from(["rms", "layer", "layer_nobias", "none"])),
        embedding=embedding,
        blocks={name: draw(blocks()) for name in names},
        layers=(" ".join(f"{draw(SMALL)}*{name}" for name in names),),
        final_norm=draw(st.booleans()),
        head=head,
        head_bias=head and draw(st.booleans()),
        mtp=draw(st.none() | st.builds(Mtp, block=st.just(names[0]), layers=st.just(2)))
        if head
        else None,
        extra=(Tensor(name="more", shape=(3, 5)),) if draw(st.booleans()) else (),
    )
