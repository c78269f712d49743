"""Malformed cards and specs: one problem a mistake, on its line, in plain words, with a hint."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from llmcalc.catalog.validate import validate, validate_data
from llmcalc.catalog.yamlfile import read
from llmcalc.errors import InvalidFileError
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec
from tests.catalog.conftest import CARD, GPU


@dataclass(frozen=True)
class Bad:
    """One change to a valid file, and what the error must say about it."""

    old: str
    new: str
    line: int
    says: str
    hint: str = ""


CARDS = [
    Bad("name: tiny", "name: 4090", 1, "name must be a name", "in quotes"),
    Bad("name: tiny", "name: Tiny Model", 1, "lower-case letters", "`llmcalc schema`"),
    Bad("name: tiny", f"name: {'a' * 81}", 1, "81 characters, at most 80", "shorten"),
    Bad("name: tiny", "nmae: tiny\nname: tiny", 1, "nmae is no key", "did you mean name?"),
    Bad("family: test\n", "", 1, "family is missing", "add `family: …`"),
    Bad("source: by hand", "source: ''", 3, "source must be text that is not empty, not ''"),
    Bad("source: by hand", "source:", 3, "not empty"),
    Bad("source: by hand", "source: [a]", 3, "not a list"),
    Bad("hidden_size: 64", "hidden_size: many", 4, "a whole number from 1 to 16777216, not 'many'"),
    Bad("hidden_size: 64", "hidden_size: '64'", 4, "not '64'", "without quotes"),
    Bad("hidden_size: 64", "hidden_size: 64.0", 4, "not 64.0"),
    Bad("hidden_size: 64", "hidden_size: true", 4, "not true"),
    Bad("hidden_size: 64", "hidden_size: -64", 4, "not -64"),
    Bad("hidden_size: 64", "hidden_size: 0", 4, "not 0"),
    Bad("hidden_size: 64", "hidden_size: 99999999999", 4, "not 99999999999"),
    Bad(
        "hidden_size: 64", "hidden_sizes: 64\nhidden_size: 64", 4, "is no key", "mean hidden_size?"
    ),
    Bad("vocab_size: 100", "vocab_size:", 5, "vocab_size must be a whole number", ""),
    Bad("vocab_size: 100", "vocab_size: 100\nnorm: rmsnorm", 6, "must be rms, layer", "mean rms?"),
    Bad("vocab_size: 100", "vocab_size: 100\naliases: foo", 6, "must be a list", "[foo]"),
    Bad("vocab_size: 100", "vocab_size: 100\naliases: [x, 7]", 6, "aliases[1] must be", "quotes"),
    Bad("vocab_size: 100", "vocab_size: 100\nembedding: {tied: 'yes'}", 6, "true or false"),
    Bad("vocab_size: 100", "vocab_size: 100\nembedding: {tide: true}", 6, "tide", "mean tied?"),
    Bad("vocab_size: 100", "vocab_size: 100\nembedding: yes", 6, "a mapping of keys to values"),
    Bad("vocab_size: 100", "vocab_size: 100\nreleased: 2024", 6, "released must be", "quotes"),
    Bad(
        "vocab_size: 100",
        "vocab_size: 100\npublished: {params: 7, source: x}",
        6,
        "relation is missing",
    ),
    Bad("max_position_embeddings: 512", "max_position_embeddings: 2e3", 6, "not 2000.0"),
    Bad("norms: 2", "norms: 17", 9, "blocks.dense.norms must be a whole number from 0 to 16"),
    Bad("norms: 2", "placement: before", 9, "pre, post, output, sandwich or parallel"),
    Bad("attn: {", "atn: {", 11, "atn is no kind of part", "did you mean attn?"),
    Bad("attn: {", "mamba: {", 11, "mamba is no kind of part", "did you mean mamba2?"),
    Bad("- attn: {num_heads: 8, num_kv_heads: 2}", "- attn", 11, "one part as", "`llmcalc schema`"),
    Bad("- attn: {num_heads: 8, num_kv_heads: 2}", "- {}", 11, "not an empty mapping"),
    Bad("- mlp: {", "  mlp: {", 11, "one part as `- attn: {num_heads: 32}`"),
    Bad("attn: {num_heads: 8, num_kv_heads: 2}", "attn:", 11, "a mapping of keys to values"),
    Bad(
        "attn: {num_heads: 8,",
        "attn: {",
        11,
        "parts[0].attn.num_heads is missing",
        "a whole number",
    ),
    Bad("num_heads: 8,", "num_heads: many,", 11, "blocks.dense.parts[0].attn.num_heads must be"),
    Bad("num_heads: 8,", "num_heads: 8, kind: attn,", 11, "kind is no key", "remove it"),
    Bad("num_heads: 8,", "num_heads: 8, num_head: 8,", 11, "num_head is no key", "mean num_heads?"),
    Bad("num_heads: 8,", "num_heads: 8, qk_norm: heads,", 11, "must be head or full", "mean head?"),
    Bad("num_heads: 8,", "num_heads: 8, window: 0,", 11, "window must be a whole number from 1"),
    Bad("num_heads: 8,", "num_heads: 8, chunked: true,", 11, "chunked needs a window", "a chunk"),
    Bad("num_heads: 8,", "num_heads: 10,", 11, "10 does not divide hidden_size 64", "say head_dim"),
    Bad("num_kv_heads: 2", "num_kv_heads: 3", 11, "3 does not divide num_heads 8"),
    Bad("num_kv_heads: 2", "rotary_dim: 9", 11, "9 is more than head_dim 8"),
    Bad("num_kv_heads: 2", "rotary_dim: 5", 11, "5 dimensions of a head cannot rotate in pairs"),
    Bad("num_heads: 8,", "num_heads: 8, head_dim: 7,", 11, "7 dimensions of a head cannot rotate"),
    Bad("intermediate_size: 256}", "intermediate_size: 256, activation: swish}", 12, "silu, gelu"),
    Bad("  sparse:\n", "  3x:\n", 13, "blocks.3x has a key that is not a word", "rename"),
    Bad(
        "mtp: {block: sparse}",
        "mtp: {block: sparse}\nextra: [{name: a, shape: [0]}]",
        19,
        "extra[0].shape[0] must be a whole number from 1",
    ),
    Bad("num_heads: 8, num", "num_head: 8, num", 11, "num_head is no key", "mean num_heads?"),
    Bad("num_experts_per_tok: 2", "num_experts_per_tok: 9", 16, "9 is more than num_experts 8"),
    Bad(
        "num_experts_per_tok: 2",
        "num_experts_per_tok: 2, topk_group: 4",
        16,
        "4 is more than n_group 1",
    ),
    Bad("num_experts: 8", "num_experts: 8, shared_gate: true", 16, "gates a shared expert"),
    Bad("[2*dense,", "[2*dens,", 17, "layers[0] names 'dens'", "did you mean dense?"),
    Bad("[2*dense,", "[2**dense,", 17, "is no layer pattern", "as 3*dense"),
    Bad("[2*dense,", "['(dense',", 17, "is no layer pattern: it ends too early", "brackets"),
    Bad("[2*dense,", "[10000*dense,", 17, "more than 10000 layers", "lower the counts"),
    Bad("[2*dense, ", "2*dense #", 17, "layers must be a list, not '2*dense'", "[2*dense]"),
    Bad('[2*dense, "3*(sparse dense)"]', "[]", 17, "layers is empty", "[32*dense]"),
    Bad('"3*(sparse dense)"]\nmtp: {block: sparse}', "]", 13, "no layer uses", "name it in layers"),
    Bad("mtp: {block: sparse}", "mtp: {block: spars}", 18, "mtp.block names", "mean sparse?"),
    Bad("mtp: {block: sparse}", "mtp: {}", 18, "mtp.block is missing", "add `block: …`"),
    Bad("mtp: {", "head: false\nmtp: {", 19, "mtp needs an output head"),
    Bad("mtp: {block: sparse}", "head: false\nembedding: {tied: true}", 19, "needs an output head"),
    Bad("mtp: {block: sparse}", "head: yes", 18, "head must be true or false", "without quotes"),
    Bad(
        "mtp: {block: sparse}",
        "extra:\n  - {name: a, shape: [99999999, 99999999]}",
        19,
        "means 9999999800000001 elements",
        "correct the shape",
    ),
    Bad(
        "mtp: {block: sparse}",
        "stored:\n  - {name: a, shape: [1]}\n  - {name: a, shape: [2]}",
        20,
        "a is listed twice",
        "a name of its own",
    ),
    Bad("mtp: {block: sparse}", "extra: [{name: a, shape: 3}]", 18, "shape must be a list"),
]

SPECS = [
    Bad("vendor: nobody\n", "", 1, "vendor is missing", "add `vendor: …`"),
    Bad("vendor: nobody", "vendors: nobody\nvendor: nobody", 3, "is no key", "mean vendor?"),
    Bad("vendor: nobody", "vendor: nobody\nkind: gpus", 4, "gpu, tpu, npu, apu or cpu", "gpu?"),
    Bad("released: 2024", "released: 1999", 4, "a whole number from 2010 to 2100, not 1999"),
    Bad("released: 2024", "released: 2024-05", 4, "not '2024-05'"),
    Bad("marketed_gb: 80", "marketed_gb: 80GB", 6, "a number from 1e-09 to 1e+09, not '80GB'"),
    Bad("marketed_gb: 80", "marketed_gb: '80'", 6, "not '80'", "without quotes"),
    Bad("marketed_gb: 80", "marketed_gb: true", 6, "not true"),
    Bad("marketed_gb: 80", "marketed_gb: 0", 6, "not 0"),
    Bad("marketed_gb: 80", "marketed_gib: 80", 6, "marketed_gib is no key", "mean marketed_gb?"),
    Bad("reported_mib: 81559", "reported_mib: 815590", 7, "is 796.5 GiB", "is in MiB"),
    Bad("reported_mib: 81559", "torch_gib: 30", 7, "is 30 GiB, which cannot be", "in GiB"),
    Bad(
        "  marketed_gb: 80\n  reported_mib: 81559\n", "", 5, "memory gives no size", "say marketed"
    ),
    Bad("bandwidth_gb_s: 3352", "unified: 1", 8, "memory.unified must be true or false, not 1"),
    Bad("compute: {bf16: 989.4}", "compute: {bf17: 989.4}", 9, "bf17 is no key", "mean bf16?"),
    Bad("compute: {bf16: 989.4}", "compute: 989.4", 9, "compute must be a mapping"),
    Bad("date: 2026-08-01, ", "", 11, "prices[0].date is missing", "add `date: …`"),
    Bad("usd_per_hour: 2.5", "usd_per_hour: -1", 11, "prices[0].usd_per_hour must be a number"),
    Bad("sources: {memory: its page}", "sources: its page", 12, "sources must be a mapping"),
    Bad(
        "sources: {memory: its page}",
        "sources: {memory: 3}",
        12,
        "sources.memory must be",
        "quotes",
    ),
]


def check(kind: type[ModelCard | GpuSpec], good: str, bad: Bad) -> None:
    """The change alone, read and validated, is one problem as the row says."""
    assert good.count(bad.old) >= 1
    text = good.replace(bad.old, bad.new, 1)
    with pytest.raises(InvalidFileError) as caught:
        validate(kind, read(text, "bad.yaml"))
    assert [one.message for one in caught.value.problems] == [caught.value.message]
    assert caught.value.message.startswith(f"bad.yaml:{bad.line}: "), caught.value.message
    assert bad.says in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert bad.hint in caught.value.hint
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("bad", CARDS, ids=lambda bad: bad.says)
def test_a_bad_card_is_one_problem_on_its_line(bad: Bad) -> None:
    check(ModelCard, CARD, bad)


@pytest.mark.parametrize("bad", SPECS, ids=lambda bad: bad.says)
def test_a_bad_spec_is_one_problem_on_its_line(bad: Bad) -> None:
    check(GpuSpec, GPU, bad)


def test_the_valid_files_are_valid() -> None:
    assert validate(ModelCard, read(CARD, "x.yaml")).name == "tiny"
    assert validate(GpuSpec, read(GPU, "x.yaml")).memory.marketed_gb == 80.0


def test_several_mistakes_are_one_problem_each_in_the_order_of_the_file() -> None:
    text = (
        CARD.replace("hidden_size: 64", "hidden_size: many")
        .replace("num_heads: 8,", "num_heads: few,")
        .replace("num_experts: 8", "num_expert: 8")
    )
    with pytest.raises(InvalidFileError) as caught:
        validate(ModelCard, read(text, "bad.yaml"))
    lines = [one.message.split(":")[1] for one in caught.value.problems]
    assert lines == ["4", "11", "16"]
    assert all(one.hint for one in caught.value.problems)


def test_a_block_without_parts_is_refused() -> None:
    text = CARD[: CARD.index("    parts:")] + "    parts: []\nlayers: [dense]\n"
    with pytest.raises(InvalidFileError, match=r":10: blocks\.dense\.parts is empty"):
        validate(ModelCard, read(text, "bad.yaml"))


def test_data_without_a_file_names_its_origin_alone() -> None:
    with pytest.raises(InvalidFileError, match=r"^config\.json: name is missing$"):
        validate_data(GpuSpec, {"title": "G"}, "config.json")


def test_a_window_longer_than_the_context_is_allowed() -> None:
    text = CARD.replace("num_heads: 8,", "num_heads: 8, window: 4096,")
    assert validate(ModelCard, read(text, "x.yaml")).max_position_embeddings == 512
