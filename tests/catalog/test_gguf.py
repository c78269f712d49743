"""Headers of .gguf files, written by the gguf package: exact sizes, a card, or one clear error."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmcalc.blueprint import lower
from llmcalc.catalog import find, ggml
from llmcalc.catalog.gguf import Gguf, read_gguf
from llmcalc.catalog.gguf_card import card_from_gguf
from llmcalc.engines.params import count
from llmcalc.errors import InvalidFileError
from llmcalc.spec.card import ModelCard
from tests.ggufs import MODELS, Model, write

gguf = pytest.importorskip("gguf", reason="the package gguf is not installed (extra test)")

TOTALS = {
    "llama2-7b": 6_738_415_616,
    "mixtral-8x7b": 46_702_792_704,
    "qwen2.5-0.5b": 494_032_768,
    "qwen3-8b": 8_190_735_360,
    "gemma2-9b": 9_241_705_984,
    "gemma3-27b": 27_009_346_304,
    "phi3-mini": 3_821_079_552,
}
"""Published counts of the language models (open data of the project)."""


SAME = {"gemma3-27b": "gemma3-27b-text", "phi3-mini": "phi-3-mini"}
"""Where the catalog calls it otherwise."""


def _read(tmp_path: Path, model: Model, **more: Any) -> Gguf:
    path = str(tmp_path / "m.gguf")
    write(path, model, **more)
    return read_gguf(path)


def _card(tmp_path: Path, model: Model, **more: Any) -> ModelCard:
    return card_from_gguf(_read(tmp_path, model, **more), "m")


@pytest.mark.parametrize("name", TOTALS)
def test_the_card_counts_what_is_published(name: str, tmp_path: Path) -> None:
    file = _read(tmp_path, MODELS[name])
    card = card_from_gguf(file, "m")
    assert count(lower(card)).total == TOTALS[name]
    buffers = sum(one.numel for one in file.checkpoint.tensors if one.name.startswith("rope"))
    assert file.checkpoint.numbers == TOTALS[name] + buffers


def test_bytes_are_those_of_the_blocks(tmp_path: Path) -> None:
    """Llama-2-7B in Q8_0: matrices 34 bytes a block of 32, 65 norms of 4,096 in F32."""
    file = _read(tmp_path, MODELS["llama2-7b"], kind="Q8_0")
    by_type: dict[str, int] = {}
    for one in file.checkpoint.tensors:
        by_type[one.dtype] = by_type.get(one.dtype, 0) + one.bytes
    norms = 65 * 4096
    assert by_type == {"F32": norms * 4, "Q8_0": (6_738_415_616 - norms) // 32 * 34}


def test_the_table_of_types_is_that_of_the_package() -> None:
    theirs = {
        int(one): (one.name, *gguf.GGML_QUANT_SIZES[one]) for one in gguf.GGMLQuantizationType
    }
    assert {key: theirs[key] for key in ggml.TYPES if key in theirs} == {
        key: value for key, value in ggml.TYPES.items() if key in theirs
    }


@pytest.mark.parametrize("name", TOTALS)
def test_the_layers_are_those_of_the_catalog(name: str, tmp_path: Path) -> None:
    """Heads, windows and rotations decide on cache and FLOPs, which no count of tensors shows."""
    ours, theirs = _card(tmp_path, MODELS[name]), find.card(SAME.get(name, name))
    assert ours.layers == theirs.layers
    assert ours.blocks == theirs.blocks
    assert (ours.norm, ours.embedding) == (theirs.norm, theirs.embedding)


def test_windows_and_norms_of_gemma3(tmp_path: Path) -> None:
    """Five layers of six see 1,024 tokens, as the published config says."""
    card = _card(tmp_path, MODELS["gemma3-27b"])
    assert card.layers == ("10*(5*local global)", "2*local")
    parts = {name: block.parts[0] for name, block in card.blocks.items()}
    assert (parts["local"].window, parts["global"].window) == (1024, None)  # type: ignore[union-attr]
    assert card.embedding.tied


def test_an_output_head_is_there_where_the_file_holds_one(tmp_path: Path) -> None:
    assert _card(tmp_path, MODELS["qwen2.5-0.5b"]).embedding.tied
    assert not _card(tmp_path, MODELS["llama2-7b"]).embedding.tied


def test_a_vocabulary_is_passed_over(tmp_path: Path) -> None:
    tokens = [f"t{number}" for number in range(20_000)]
    file = _read(tmp_path, MODELS["llama2-7b"], tokens=tokens)
    assert file.metadata["tokenizer.ggml.tokens"] is None
    assert count(lower(card_from_gguf(file, "m"))).total == TOTALS["llama2-7b"]


REFUSED = [
    ({"arch": "mamba"}, "general.architecture mamba is not understood"),
    ({"arch": "qwen2moe"}, "qwen2moe is not understood"),
    ({"more": {"llama.attention.sliding_window": 4096}}, "sliding_window is not understood"),
    ({"more": {"llama.attention.q_lora_rank": 512}}, "llama.attention.q_lora_rank is no key"),
    ({"more": {"llama.leading_dense_block_count": 1}}, "leading_dense_block_count is no key"),
    ({"more": {"llama.expert_count": 8}}, "unknown tensors blk.0.ffn_gate.weight"),
    ({"more": {"llama.expert_used_count": 2}}, "a token cannot visit 2 of 0 experts"),
    ({"more": {"llama.feed_forward_length": 128}}, "ffn_gate.weight is [11008, 4096]"),
    ({"more": {"llama.attention.head_count": 24}}, "attention.key_length is missing"),
    ({"more": {"llama.block_count": 31}}, "unknown tensors blk.31."),
    ({"more": {"llama.block_count": 33}}, "no tensors blk.32."),
    ({"more": {"llama.block_count": 2**31}}, "block_count"),
    ({"more": {"llama.embedding_length": 0}}, "embedding_length must be a whole number from 1"),
    ({"more": {"llama.embedding_length": -4}}, "embedding_length must be a whole number from 1"),
    ({"more": {"llama.attention.causal": False}}, "attention.causal is not understood"),
    ({"more": {"general.type": "adapter"}}, "'adapter' and no model"),
    ({"more": {"split.count": 3}}, "one of 3 parts"),
    ({"extra": {"blk.0.attn_sinks.weight": (32,)}}, "unknown tensors blk.0.attn_sinks.weight"),
    ({"without": "output_norm.weight"}, "no tensors output_norm.weight"),
    ({"without": "token_embd.weight"}, "no token table"),
]


@pytest.mark.parametrize(("change", "says"), REFUSED, ids=[says[:40] for _, says in REFUSED])
def test_what_is_not_understood_is_refused_by_name(
    change: dict[str, Any], says: str, tmp_path: Path
) -> None:
    file = _read(tmp_path, MODELS["llama2-7b"], **change)
    with pytest.raises(InvalidFileError) as caught:
        card_from_gguf(file, "m")
    assert says in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


def _text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def _head(keys: int, tensors: int, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys)


def _array(kind: int, length: int, rest: bytes = b"") -> bytes:
    return _head(1, 0) + _text(b"a") + struct.pack("<IIQ", 9, kind, length) + rest


def _tensor(shape: tuple[int, ...], kind: int = 0, at: int = 0, name: bytes = b"t") -> bytes:
    sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return _text(name) + sizes + struct.pack("<IQ", kind, at)


NESTED = b"".join(struct.pack("<IQ", 9, 1) for _ in range(9))
BAD = [
    ("empty", b"", "ends inside a header"),
    ("other", b"GGML" + b"\0" * 60, "does not begin with GGUF"),
    ("version 1", _head(0, 0, 1), "version 1: versions 2 and 3"),
    ("big-endian", b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian files are not read"),
    ("cut in a number", _head(0, 0)[:10], "ends inside a number"),
    ("many keys", _head(2**60, 0), "claims 1152921504606846976 keys"),
    ("many tensors", _head(0, 2**60), "and 1152921504606846976 tensors"),
    ("no keys", _head(3, 0), "ends inside a number"),
    ("long key", _head(1, 0) + struct.pack("<Q", 2**63), "a text of 9223372036854775808 bytes"),
    ("cut key", _head(1, 0) + struct.pack("<Q", 100) + b"ab", "ends inside a text"),
    ("no UTF-8", _head(1, 0) + _text(b"\xff"), "no UTF-8"),
    ("type", _head(1, 0) + _text(b"a") + struct.pack("<I", 99), "a has the type 99"),
    ("twice", _head(2, 0) + (_text(b"a") + struct.pack("<IB", 0, 1)) * 2, "a stands here twice"),
    ("endless array", _array(4, 2**62, b"\0" * 64), "a claims 4611686018427387904 elements"),
    ("array over the file", _array(0, 65, b"\0" * 64), "a claims 65 elements"),
    ("array of texts", _array(8, 60, b"\0" * 64), "ends inside a number"),
    ("nested arrays", _array(9, 1, NESTED), "more than 4 levels"),
    ("no name", _head(0, 1) + _tensor((1,), name=b""), "is no name of a tensor"),
    ("control", _head(0, 1) + _tensor((1,), name=b"a\x1b"), "is no name of a tensor"),
    ("axes", _head(0, 1) + _tensor((1,) * 5), "t has 5 axes"),
    ("unknown type", _head(0, 1) + _tensor((4,), kind=77), "t has the type 77"),
    ("removed type", _head(0, 1) + _tensor((32,), kind=4), "t has the type 4"),
    ("block", _head(0, 1) + _tensor((33,), kind=2), "rows of 33, no multiple of 32"),
    ("outside", _head(0, 1) + _tensor((2**60, 2**60)), "the file is cut off"),
    ("offset", _head(0, 1) + _tensor((0,), at=2**63), "the file is cut off"),
    ("same name", _head(0, 2) + _tensor((0,)) * 2, "t stands here twice"),
    (
        "overlap",
        _head(0, 2) + _tensor((8,)) + _tensor((8,), at=16, name=b"u") + b"\0" * 200,
        "u overlaps",
    ),
    (
        "alignment",
        _head(1, 0) + _text(b"general.alignment") + struct.pack("<II", 4, 3),
        "no power of two",
    ),
]


@pytest.mark.parametrize(("raw", "says"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_a_damaged_header_is_one_clear_error(raw: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(raw)
    with pytest.raises(InvalidFileError) as caught:
        read_gguf(str(tmp_path / "a.gguf"))
    assert says in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_every_cut_of_a_real_header_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    write(str(path), MODELS["llama2-7b"], tokens=["a", "b"])
    whole = path.read_bytes() if path.stat().st_size < 2**20 else b""
    if not whole:
        with path.open("rb") as file:
            whole = file.read(2**16)
    for end in range(0, 2000, 7):
        path.write_bytes(whole[:end])
        with pytest.raises(InvalidFileError):
            read_gguf(str(path))


@settings(max_examples=200)
@given(st.binary(max_size=200), st.integers(0, 3), st.integers(0, 3))
def test_no_bytes_raise_anything_else(
    tmp_path_factory: pytest.TempPathFactory, rest: bytes, keys: int, tensors: int
) -> None:
    path = tmp_path_factory.getbasetemp() / f"fuzz-{os.getpid()}.gguf"
    path.write_bytes(_head(keys, tensors) + rest)
    try:
        file = read_gguf(str(path))
        card_from_gguf(file, "m")
    except InvalidFileError as error:
        assert error.message
