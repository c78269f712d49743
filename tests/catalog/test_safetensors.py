"""Headers of .safetensors files: what they store to the last byte, or one clear error."""

from __future__ import annotations

import io
import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.catalog import safetensors
from llmcalc.catalog.safetensors import header, read_index, read_safetensors
from llmcalc.errors import InvalidFileError, UnknownNameError


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def packed(told: Mapping[str, Any] | bytes, data: int = 0) -> bytes:
    raw = told if isinstance(told, bytes) else json.dumps(told).encode()
    return struct.pack("<Q", len(raw)) + raw + b"\0" * data


def test_tensors_have_their_shape_type_and_bytes(tmp_path: Path) -> None:
    """By hand: 2 · 3 BF16 are 12 bytes, a scalar F32 is 4, 5 numbers of 4 bits, 0 of nothing."""
    told = {
        "__metadata__": {"format": "pt"},
        "w": entry("BF16", [2, 3], 0, 12),
        "s": entry("F32", [], 12, 16),
        "q": entry("F4", [2, 3], 16, 19),
        "none": entry("F32", [0, 7], 19, 19),
    }
    (tmp_path / "a.safetensors").write_bytes(packed(told, 19))
    found = read_safetensors(str(tmp_path / "a.safetensors"))
    assert [(one.name, one.shape, one.dtype, one.bytes) for one in found.tensors] == [
        ("w", (2, 3), "BF16", 12),
        ("s", (), "F32", 4),
        ("q", (2, 3), "F4", 3),
        ("none", (0, 7), "F32", 0),
    ]
    assert found.numbers == 6 + 1 + 6 + 0


def test_spaces_after_the_header_are_padding(tmp_path: Path) -> None:
    raw = json.dumps({"w": entry("F32", [1], 0, 4)}).encode() + b"   "
    (tmp_path / "a.safetensors").write_bytes(packed(raw, 4))
    assert read_safetensors(str(tmp_path / "a.safetensors")).numbers == 1


def test_a_large_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sparse file of a terabyte: nothing behind the header is asked for."""
    path = tmp_path / "a.safetensors"
    told = packed({"w": entry("U8", [2**40], 0, 2**40)})
    path.write_bytes(told)
    os.truncate(path, len(told) + 2**40)
    asked: list[int] = []
    monkeypatch.setattr(safetensors, "opened", _counting(path, asked))
    assert read_safetensors(str(path)).numbers == 2**40
    assert sum(asked) == len(told)


def _counting(path: Path, asked: list[int]) -> Any:
    from contextlib import contextmanager

    class Counting(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            asked.append(size or 0)
            return super().read(size or 0) or b""

    @contextmanager
    def opened(_: str) -> Any:
        with Counting(str(path)) as file:
            yield file, path.stat().st_size

    return opened


OK = entry("F32", [1], 0, 4)
BAD = [
    ("empty", b"", "0 bytes and no header"),
    ("short", b"\1\0\0", "3 bytes and no header"),
    ("pointer", b"version https://git-lfs.github.com/spec/v1\n", "no .safetensors file"),
    ("huge", struct.pack("<Q", 2**63) + b"{}", "would be 9223372036854775808 bytes"),
    ("negative", struct.pack("<q", -1) + b"{}", "would be 18446744073709551615 bytes"),
    ("over 100 MB", struct.pack("<Q", 100_000_001) + b"{}", "at most 100000000"),
    ("longer than the file", struct.pack("<Q", 3) + b"{}", "and the file has 10"),
    ("no JSON", packed(b"{"), "no JSON"),
    ("no UTF-8", packed(b"\xff\xfe"), "no UTF-8"),
    ("no mapping", packed(b"[]"), "no mapping"),
    ("deep", packed(b"[" * 200_000), "levels of nesting"),
    ("many digits", packed(b'{"a": ' + b"9" * 5000 + b"}"), "limit"),
    ("twice", packed(b'{"a": {}, "a": {}}'), "stands here twice"),
    ("no tensor", packed({"a": 3}), "no mapping of dtype"),
    ("no name", packed({"": OK}, 4), "'' is no name of a tensor"),
    ("control", packed({"a\x1b[31m": OK}, 4), "is no name of a tensor"),
    ("surrogate", packed(b'{"a\\ud800": {}}'), "is no name of a tensor"),
    ("long name", packed({"a" * 2000: OK}, 4), "is no name of a tensor"),
    ("no dtype", packed({"a": {"shape": [1], "data_offsets": [0, 4]}}, 4), "dtype None"),
    ("unknown dtype", packed({"a": OK | {"dtype": "F31"}}, 4), "dtype 'F31', which is unknown"),
    ("dtype of a list", packed({"a": OK | {"dtype": ["F32"]}}, 4), "which is unknown"),
    ("negative shape", packed({"a": OK | {"shape": [-1]}}, 4), "shape [-1]"),
    ("fraction", packed({"a": OK | {"shape": [1.0]}}, 4), "shape [1.0]"),
    ("true", packed({"a": OK | {"shape": [True]}}, 4), "shape [True]"),
    ("no shape", packed({"a": OK | {"shape": None}}, 4), "shape None"),
    ("shape too large", packed({"a": OK | {"shape": [2**64]}}, 4), "the shape"),
    ("product too large", packed({"a": OK | {"shape": [2**62] * 9}}, 4), "and its shape means"),
    ("many axes", packed({"a": OK | {"shape": [1] * 65}}, 4), "the shape"),
    ("wrong bytes", packed({"a": entry("F32", [2], 0, 4)}, 4), "4 bytes, and its shape means 8"),
    ("half a byte", packed({"a": entry("F4", [3], 0, 1)}, 1), "1 bytes, and its shape means 2"),
    ("one offset", packed({"a": OK | {"data_offsets": [4]}}, 4), "data_offsets [4]"),
    ("backwards", packed({"a": OK | {"data_offsets": [4, 0]}}, 4), "data_offsets [4, 0]"),
    ("no offsets", packed({"a": OK | {"data_offsets": {}}}, 4), "data_offsets {}"),
    ("cut off", packed({"a": OK}, 3), "ends at byte 4 of 3: the file is cut off"),
    ("overlap", packed({"a": OK, "b": entry("F32", [1], 2, 6)}, 6), "b overlaps"),
    ("same place", packed({"a": OK, "b": OK}, 4), "overlaps another"),
]


@pytest.mark.parametrize(("raw", "says"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_a_damaged_header_is_one_clear_error(raw: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(raw)
    with pytest.raises(InvalidFileError) as caught:
        read_safetensors(str(tmp_path / "a.safetensors"))
    assert says in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 300
    assert caught.value.hint


def test_what_is_no_plain_file_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    """A pipe that nobody writes to would wait for ever."""
    os.mkfifo(tmp_path / "a.safetensors")
    with pytest.raises(InvalidFileError, match="no plain file"):
        read_safetensors(str(tmp_path / "a.safetensors"))
    with pytest.raises(UnknownNameError):
        read_safetensors(str(tmp_path / "b.safetensors"))
    (tmp_path / "loop.safetensors").symlink_to(tmp_path / "loop.safetensors")
    with pytest.raises(InvalidFileError, match="cannot be read"):
        read_safetensors(str(tmp_path / "loop.safetensors"))


@given(st.binary(max_size=200), st.integers(0, 2**16))
def test_no_bytes_raise_anything_else(raw: bytes, size: int) -> None:
    try:
        header(raw, size, "x")
    except InvalidFileError as error:
        assert error.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
TENSOR = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(["F32", "BF16", "F4", "X"]) | JSON,
        "shape": st.lists(st.integers(-1, 4), max_size=3) | JSON,
        "data_offsets": st.lists(st.integers(-1, 40), max_size=3) | JSON,
    },
)


@given(st.dictionaries(st.text(max_size=5), TENSOR | JSON, max_size=3), st.integers(0, 40))
def test_no_json_raises_anything_else_and_what_passes_fits_the_file(
    told: dict[str, Any], size: int
) -> None:
    try:
        tensors = header(json.dumps(told).encode(), size, "x")
    except InvalidFileError as error:
        assert error.message
    else:
        assert sum(one.bytes for one in tensors) <= size


def _sharded(folder: Path, weight_map: Any) -> str:
    for name, tensor in (("one", "a"), ("two", "b")):
        (folder / f"{name}.safetensors").write_bytes(packed({tensor: OK}, 4))
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return str(path)


def test_an_index_is_all_of_its_shards(tmp_path: Path) -> None:
    path = _sharded(tmp_path, {"a": "one.safetensors", "b": "two.safetensors"})
    assert [one.name for one in read_index(path).tensors] == ["a", "b"]


BAD_MAPS = [
    (None, "weight_map is missing"),
    ({}, "weight_map is missing"),
    ([], "weight_map is missing"),
    ({"a": 3}, "3 is no name of a shard"),
    ({"a": "../one.safetensors"}, "no name of a shard"),
    ({"a": "/etc/one.safetensors"}, "no name of a shard"),
    ({"a": "sub/one.safetensors"}, "no name of a shard"),
    ({"a": "C:\\one.safetensors"}, "no name of a shard"),
    ({"a": "model.safetensors.index.json"}, "no name of a shard"),
    ({"a": "x" * 300 + ".safetensors"}, "no name of a shard"),
    ({"a": "three.safetensors"}, "three.safetensors is not beside it"),
    ({"c": "one.safetensors"}, "one.safetensors holds no tensor c"),
]


@pytest.mark.parametrize(("weight_map", "says"), BAD_MAPS, ids=[str(m)[:30] for m, _ in BAD_MAPS])
def test_an_index_names_shards_beside_it_and_nothing_else(
    weight_map: Any, says: str, tmp_path: Path
) -> None:
    path = _sharded(tmp_path, weight_map)
    with pytest.raises(InvalidFileError) as caught:
        read_index(path)
    assert says in caught.value.message
    assert caught.value.hint


def test_a_tensor_in_two_shards_is_refused(tmp_path: Path) -> None:
    path = _sharded(tmp_path, {"a": "one.safetensors", "b": "two.safetensors"})
    (tmp_path / "two.safetensors").write_bytes(packed({"a": OK, "b": entry("F32", [1], 4, 8)}, 8))
    with pytest.raises(InvalidFileError, match="in another shard"):
        read_index(path)
