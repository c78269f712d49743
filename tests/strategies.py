"""Random valid model cards of every kind, and small ones for calculations by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from llmcalc.spec.card import Block, Embedding, ModelCard, Mtp, Stack, Tensor, Tower
from llmcalc.spec.parts import Attention, Indexer, LatentAttention, Mlp, Moe, Part
from llmcalc.spec.recurrent import (
    GatedDeltaNet,
    KimiDelta,
    Lightning,
    Mamba1,
    Mamba2,
    RwkvChannel,
    RwkvTime,
)

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
    shared = draw(st.booleans())
    return Attention(
        num_heads=h_kv * draw(st.sampled_from([1, 2, 4, 7])),
        num_kv_heads=h_kv,
        head_dim=draw(st.sampled_from([8, 10, 16])),
        v_head_dim=None if shared else draw(st.sampled_from([None, 8, 12])),
        k_eq_v=shared,
        qkv_bias=draw(st.booleans()),
        k_bias=draw(st.sampled_from([None, False, True])),
        o_bias=draw(st.booleans()),
        qk_norm=draw(st.sampled_from([None, "head", "full"])),
        sinks=draw(st.booleans()),
        output_gate=draw(st.booleans()),
        window=draw(st.none() | st.integers(1, 600)),
        relative_buckets=draw(st.sampled_from([0, 0, 5])),
    )


@st.composite
def latent_attentions(draw: st.DrawFn) -> LatentAttention:
    """MLA with and without a low-rank query projection, with and without a sparse indexer."""
    indexer = st.builds(
        Indexer, num_heads=st.just(3), head_dim=st.just(4), topk=st.integers(1, 600)
    )
    return LatentAttention(
        num_heads=draw(st.sampled_from([1, 2, 4, 6])),
        q_lora_rank=draw(st.none() | st.integers(8, 24)),
        kv_lora_rank=draw(st.integers(8, 24)),
        qk_nope_head_dim=draw(st.integers(2, 12)),
        qk_rope_head_dim=draw(st.sampled_from([2, 4, 6, 8])),
        v_head_dim=draw(st.integers(2, 12)),
        indexer=draw(st.none() | indexer),
    )


def recurrences() -> st.SearchStrategy[Part]:
    """Every mixer whose memory of the past has a fixed size."""
    flags, heads, sizes = st.booleans(), st.sampled_from([2, 4]), st.sampled_from([4, 6])
    delta = st.builds(
        GatedDeltaNet, num_k_heads=heads, num_v_heads=st.just(8), head_k_dim=sizes, head_v_dim=sizes
    )
    mamba = st.builds(
        Mamba1, intermediate_size=st.sampled_from([20, 32]), state_size=sizes, dt_rank=heads,
        conv_bias=flags, bias=flags, inner_norms=flags,
    )  # fmt: skip
    mamba2 = st.builds(
        Mamba2, num_heads=st.just(8), head_dim=sizes, state_size=sizes, n_groups=heads,
        conv_bias=flags, bias=flags,
    )  # fmt: skip
    kda = st.builds(KimiDelta, num_heads=heads, head_dim=sizes)
    lightning = st.builds(Lightning, num_heads=heads, head_dim=sizes)
    rwkv = st.builds(RwkvTime, attention_hidden_size=st.none() | sizes)
    channel = st.builds(RwkvChannel, intermediate_size=sizes)
    return st.one_of(delta, mamba, mamba2, kda, lightning, rwkv, channel)


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
        latent_size=draw(st.sampled_from([None, None, 8])),
        zero_experts=draw(st.sampled_from([0, 0, 2])),
    )


TENSORS = st.sampled_from([(), (Tensor(name="more", shape=(3, 5)),)])


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    """A mixer and one or two feed-forward parts."""
    mixer = draw(st.one_of(attentions(), latent_attentions(), recurrences()))
    feeds = draw(st.lists(st.one_of(mlps(), moes()), min_size=1, max_size=2))
    norms = draw(st.integers(0, 4))
    return Block(parts=(mixer, *feeds), norms=norms, extra=draw(TENSORS))


@st.composite
def stacks(draw: st.DrawFn, hidden_size: int | None = None) -> Stack:
    """Layers that see all their tokens, as of an encoder or of a tower."""
    parts = (draw(attentions()), draw(st.one_of(mlps(), moes())))
    return Stack(
        hidden_size=hidden_size,
        norm=draw(st.sampled_from([None, "layer"])),
        blocks={"seer": Block(parts=parts, extra=draw(TENSORS))},
        layers=(f"{draw(SMALL)}*seer",),
        final_norm=draw(st.booleans()),
        length=draw(st.none() | st.integers(1, 50)),
        extra=draw(TENSORS),
    )


def towers() -> st.SearchStrategy[Tower]:
    """Itemised and bare."""
    whole = st.builds(Tower, name=st.just("whole"), params=st.integers(1, 999))
    seeing = st.builds(
        Tower, name=st.just("eyes"), stack=stacks(hidden_size=32),
        patches_per_token=st.sampled_from([1, 4, 9]),
    )  # fmt: skip
    hearing = st.builds(Tower, name=st.just("ears"), modality=st.just("audio"), stack=stacks())
    return st.one_of(whole, seeing, hearing)


@st.composite
def cards(draw: st.DrawFn) -> ModelCard:
    """Any valid decoder: one to three kinds of layers in a random pattern, perhaps with towers."""
    return draw(bodies(draw(st.sampled_from([16, 24, 40]))))


@st.composite
def encoder_decoders(draw: st.DrawFn) -> ModelCard:
    """Any valid card with an encoder that its layers look at."""
    card = draw(bodies(24))
    cross = replace(draw(attentions()), cross=True, window=None, relative_buckets=0)
    made = {name: replace(one, parts=(*one.parts, cross)) for name, one in card.blocks.items()}
    return replace(card, blocks=made, encoder=draw(stacks()))


@st.composite
def encoders(draw: st.DrawFn) -> ModelCard:
    """Any valid card whose tokens see each other: BERT and its kin."""
    stack = draw(stacks())
    return replace(
        draw(bodies(24)), blocks=stack.blocks, layers=stack.layers, mtp=None, causal=False
    )


@st.composite
def bodies(draw: st.DrawFn, hidden_size: int) -> ModelCard:
    """A decoder of this width."""
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
        hidden_size=hidden_size,
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
        towers=draw(st.sampled_from([(), (draw(towers()),)])),
        extra=draw(TENSORS),
    )
