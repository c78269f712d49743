"""What is written reads back as the same value, and looks as a person would write it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from llmcalc.catalog.validate import validate
from llmcalc.catalog.write import card_yaml, gpu_yaml
from llmcalc.catalog.yamlfile import read
from llmcalc.spec.card import (
    Block,
    Embedding,
    ModelCard,
    Mtp,
    Published,
    Stack,
    Tensor,
    Tower,
)
from llmcalc.spec.gpu import GpuCompute, GpuLink, GpuMemory, GpuSpec, Price
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe
from tests import strategies
from tests.catalog.conftest import CARD, GPU

WIDTHS = st.integers(1, 2**24)
EVEN = st.sampled_from([64, 128, 192, 512])
FLAGS = st.booleans()
LINES = (
    st.text(min_size=1, max_size=300)
    | st.lists(st.text("abc:#'\",-[]{}&*!|>%@` ", min_size=1, max_size=12), min_size=1).map(
        " ".join
    )
).filter(lambda text: text.strip() and not any(c < " " or c == "\x7f" for c in text))
WORDS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,12}", fullmatch=True) | st.sampled_from(
    ["null", "true", "no", "y", "off", "_", "a-b", "NaN"]
)
NAMES = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,12}", fullmatch=True)
ALIASES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._/+-]{0,20}", fullmatch=True)
AMOUNTS = st.floats(1e-6, 1e9)

ATTENTION = st.builds(
    Attention,
    num_heads=st.just(4),
    num_kv_heads=st.sampled_from([None, 1, 2, 4]),
    head_dim=EVEN,
    v_head_dim=st.none() | WIDTHS,
    qkv_bias=FLAGS,
    qk_norm=st.sampled_from([None, "head", "full"]),
    window=st.none() | st.integers(1, 2**40),
    rotary_dim=st.none() | st.sampled_from([0, 2, 20, 64]),
)
LATENT = st.builds(
    LatentAttention,
    num_heads=WIDTHS,
    q_lora_rank=st.none() | WIDTHS,
    kv_lora_rank=WIDTHS,
    qk_nope_head_dim=WIDTHS,
    qk_rope_head_dim=EVEN,
    v_head_dim=WIDTHS,
)
MLP = st.builds(Mlp, intermediate_size=WIDTHS, gated=FLAGS, bias=FLAGS)
MOE = st.builds(
    Moe,
    num_experts=st.integers(8, 512),
    num_experts_per_tok=st.integers(1, 8),
    intermediate_size=WIDTHS,
    shared_intermediate_size=WIDTHS,
    shared_gate=FLAGS,
    activation=st.sampled_from(["silu", "gelu", "relu", "relu2"]),
)
BLOCKS = st.builds(
    Block,
    parts=st.lists(ATTENTION | LATENT | MLP | MOE, min_size=1, max_size=3).map(tuple),
    norms=st.integers(0, 16),
    placement=st.sampled_from(["pre", "post", "sandwich", "parallel"]),
)
TENSORS = st.lists(
    st.builds(Tensor, name=WORDS, shape=st.lists(st.integers(1, 99), max_size=4).map(tuple)),
    max_size=3,
    unique_by=lambda tensor: tensor.name,
).map(tuple)


@st.composite
def cards(draw: st.DrawFn) -> ModelCard:
    """A card that keeps every rule."""
    blocks = draw(st.dictionaries(WORDS, BLOCKS, min_size=1, max_size=3))
    mtp = st.builds(Mtp, block=st.sampled_from(list(blocks)), own_head=FLAGS)
    return ModelCard(
        name=draw(NAMES),
        family=draw(NAMES),
        aliases=tuple(draw(st.lists(ALIASES, max_size=12))),
        released=draw(st.none() | st.just("2024-12")),
        source=draw(LINES),
        notes=draw(st.none() | LINES),
        published=draw(
            st.none()
            | st.builds(Published, params=st.integers(1, 10**16), relation=LINES, source=LINES)
        ),
        stored=draw(TENSORS),
        hidden_size=draw(WIDTHS),
        vocab_size=draw(WIDTHS),
        embedding=Embedding(tied=draw(FLAGS), positions=draw(st.integers(0, 99))),
        blocks=blocks,
        layers=tuple(f"{draw(st.integers(1, 99))}*{name}" for name in blocks),
        final_norm=draw(FLAGS),
        mtp=draw(st.none() | mtp),
        extra=draw(TENSORS),
    )


SPECS = st.builds(
    GpuSpec,
    name=NAMES,
    title=LINES,
    aliases=st.lists(ALIASES, max_size=12).map(tuple),
    vendor=LINES,
    compute_capability=st.none() | st.just("9.0"),
    memory=st.builds(GpuMemory, marketed_gb=AMOUNTS, bandwidth_gb_s=st.none() | AMOUNTS),
    compute=st.builds(GpuCompute, bf16=st.none() | AMOUNTS),
    link=st.none() | st.builds(GpuLink, name=LINES, max_gpus=st.none() | WIDTHS),
    prices=st.lists(
        st.builds(Price, provider=LINES, usd_per_hour=AMOUNTS, date=LINES, source=LINES), max_size=2
    ).map(tuple),
    sources=st.dictionaries(LINES, LINES, max_size=3),
    notes=st.none() | LINES,
)


@given(cards())
def test_a_card_reads_back_as_itself(card: ModelCard) -> None:
    assert validate(ModelCard, read(card_yaml(card), "x.yaml")) == card


@given(st.one_of(strategies.cards(), strategies.encoder_decoders(), strategies.encoders()))
def test_a_card_of_any_kind_reads_back_as_itself(card: ModelCard) -> None:
    assert validate(ModelCard, read(card_yaml(card), "x.yaml")) == card


@given(SPECS)
def test_a_spec_reads_back_as_itself(spec: GpuSpec) -> None:
    assert validate(GpuSpec, read(gpu_yaml(spec), "x.yaml")) == spec


def test_a_name_that_looks_like_an_endless_number_is_quoted() -> None:
    card = replace(validate(ModelCard, read(CARD, "x.yaml")), name="1e400")
    assert validate(ModelCard, read(card_yaml(card), "x.yaml")) == card


def test_the_first_line_names_the_schema_for_editors() -> None:
    card = validate(ModelCard, read(CARD, "x.yaml"))
    spec = validate(GpuSpec, read(GPU, "x.yaml"))
    assert card_yaml(card).startswith("# yaml-language-server: $schema=card.schema.json\n")
    assert gpu_yaml(spec).startswith("# yaml-language-server: $schema=gpu.schema.json\n")


def test_parts_stand_on_one_line_and_defaults_are_left_out() -> None:
    text = card_yaml(validate(ModelCard, read(CARD, "x.yaml")))
    assert "      - attn: {num_heads: 8, num_kv_heads: 2}\n" in text
    assert "layers: [2*dense, 3*(sparse dense)]\n" in text
    assert "final_norm" not in text
    assert "norms: 2" not in text


def test_encoders_and_towers_are_written_as_the_model_is() -> None:
    card = validate(ModelCard, read(CARD, "x.yaml"))
    block = Block(parts=(Attention(num_heads=4),), extra=(Tensor(name="scale", shape=(8,)),))
    stack = Stack(hidden_size=32, blocks={"see": block}, layers=("2*see",), length=256)
    text = card_yaml(replace(card, towers=(Tower(name="eyes", stack=stack),)))
    assert TOWER in text


TOWER = """\
towers:
  - name: eyes
    stack:
      hidden_size: 32
      blocks:
        see:
          parts:
            - attn: {num_heads: 4}
          extra:
            - {name: scale, shape: [8]}
      layers: [2*see]
      length: 256
"""


def test_long_text_and_long_parts_are_wrapped() -> None:
    card = validate(ModelCard, read(CARD, "x.yaml"))
    long = replace(card, source="a word " * 60 + "end", notes="with: colon " * 40 + "end")
    assert max(map(len, card_yaml(long).splitlines())) <= 110
    assert validate(ModelCard, read(card_yaml(long), "x.yaml")) == long
