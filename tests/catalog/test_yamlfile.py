"""The reader gives plain data of bounded size, or one clear error, and never anything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.catalog.yamlfile import decoded, read
from llmcalc.errors import InvalidFileError

KEYS = st.text(alphabet="abcdefgh_", min_size=1, max_size=6)
ASCII = st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=20)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | ASCII
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(st.text(max_size=300))
def test_any_text_is_a_mapping_or_an_invalid_file(text: str) -> None:
    try:
        data = read(text, "any.yaml").data
    except InvalidFileError as error:
        assert error.message.startswith("any.yaml:")
        assert "\n" not in error.message
        assert error.hint
    else:
        assert isinstance(data, dict)


@given(st.text(alphabet="ab:&*<-[]{}#'\"!|>?,%@ \n\t0.1e~", max_size=80))
def test_any_yaml_looking_text_is_a_mapping_or_an_invalid_file(text: str) -> None:
    try:
        assert isinstance(read(text, "any.yaml").data, dict)
    except InvalidFileError as error:
        assert error.message.startswith("any.yaml:")
        assert error.hint


@given(st.binary(max_size=100))
def test_any_bytes_are_text_or_an_invalid_file(raw: bytes) -> None:
    try:
        assert isinstance(decoded(raw, "any.yaml"), str)
    except InvalidFileError as error:
        assert error.message.startswith("any.yaml:")


@given(st.dictionaries(KEYS, PLAIN, max_size=5))
def test_json_reads_as_itself(data: dict[str, Any]) -> None:
    assert read(json.dumps(data), "x.json").data == data


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2024-12-01", "2024-12-01"),
        ("2024-12", "2024-12"),
        ("2024", 2024),
        ("010", "010"),
        ("0x10", "0x10"),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("no", "no"),
        ("off", "off"),
        ("true", True),
        ("false", False),
        ("1e9", 1e9),
        ("1.5", 1.5),
        (".5", 0.5),
        ("-3", -3),
        ("'12'", "12"),
        ("nan", "nan"),
        ("~", None),
        ("", None),
    ],
)
def test_words_mean_what_json_would_mean(written: str, meant: object) -> None:
    value = read(f"key: {written}", "x.yaml").data["key"]
    assert value == meant
    assert type(value) is type(meant)


def test_merge_keys_bring_in_what_the_mapping_does_not_say_itself() -> None:
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: {<<: [{x: 7}, *a]}"
    data = read(text, "x.yaml").data
    assert data["b"] == {"x": 1, "y": 3}
    assert data["c"] == {"x": 7, "y": 2}


def test_line_of_a_value_its_item_and_the_nearest_parent() -> None:
    document = read("a: 1\nb:\n  c:\n    - x: 1\n    - y: 2\n", "x.yaml")
    assert document.line(("a",)) == 1
    assert document.line(("b", "c", 1, "y")) == 5
    assert document.line(("b", "c", 0, "missing")) == 4
    assert document.line(("b", "missing", "deeper")) == 2
    assert document.line(()) == 1


def test_line_of_a_merged_key_is_that_of_its_source() -> None:
    document = read("base: &base\n  x: 1\n  y: 2\nuser:\n  <<: *base\n  z: 3\n", "x.yaml")
    assert document.line(("user", "y")) == 3
    assert document.line(("user", "z")) == 6


def test_a_byte_order_mark_is_passed_over() -> None:
    assert read(decoded(b"\xef\xbb\xbfa: 1", "x.yaml"), "x.yaml").data == {"a": 1}


def test_a_file_that_is_no_utf8_names_the_line() -> None:
    with pytest.raises(InvalidFileError, match=r"x\.yaml:2: .*UTF-8"):
        decoded(b"a: 1\nb: \xff\xfe", "x.yaml")


BOMB = "\n".join(
    ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    + [
        f"{k}: &{k} [{', '.join([f'*{p}'] * 10)}]"
        for p, k in zip("abcdefg", "bcdefgh", strict=True)
    ]
)

REFUSED: list[tuple[str, str, int, str]] = [
    ("duplicate key", "a: 1\nb: 2\na: 3", 3, "stands here twice"),
    ("duplicate key inside", "a:\n  - {b: 1, b: 2}", 2, "stands here twice"),
    ("alias bomb", BOMB, 5, "more than 100000 values"),
    ("alias inside its anchor", "a: &a\n  b: *a", 2, "before its anchor or inside it"),
    ("unknown alias", "a: *b", 1, "before its anchor"),
    ("many values", "a: [" + "1," * 100_001 + "]", 1, "more than 100000 values"),
    ("deep list", "a: " + "[" * 40 + "]" * 40, 1, "levels of nesting"),
    ("deeper than a stack", "a: " + "[" * 100_000, 1, "nesting"),
    ("deep mapping", "\n".join(" " * n + "a:" for n in range(500)), 33, "levels of nesting"),
    ("large", "a: " + "x" * 2**20, 1, "at most 1048576"),
    ("two documents", "a: 1\n---\nb: 2", 2, "second document"),
    ("list", "- a\n- b", 1, "no mapping"),
    ("text", "hello", 1, "no mapping"),
    ("empty", "", 1, "is empty"),
    ("comment only", "# nothing\n", 1, "is empty"),
    ("NUL", "a: 1\nb: \x00", 2, "no text"),
    ("lone surrogate", "a: \ud800", 1, "no text"),
    ("infinite", "a: 1\nb: .inf", 2, "no finite number"),
    ("not a number", "a: .nan", 1, "no finite number"),
    ("overflow", "a: 1e999", 1, "no finite number"),
    ("endless digits", "a: " + "9" * 5000, 1, "5000 digits"),
    ("python tag", "a: !!python/object/apply:os.system [x]", 1, "has no meaning here"),
    ("own tag", "a: 1\nb: !thing 2", 2, "has no meaning here"),
    ("merge of a number", "a: 1\n<<: 3", 2, "<< takes a mapping"),
    ("number as key", "a: {1: 2}", 1, "1 is no key"),
    ("list as key", "? [a]\n: 1", 1, "is no key"),
    ("tab", "a:\n\t- b", 2, "cannot start any token"),
    ("open quote", "a: 'x", 1, "unexpected end of stream"),
    ("two colons", "a: b: c", 1, "mapping values are not allowed"),
]


@pytest.mark.parametrize(
    ("text", "line", "words"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_what_a_card_never_needs_is_refused(text: str, line: int, words: str) -> None:
    with pytest.raises(InvalidFileError) as caught:
        read(text, "x.yaml")
    assert caught.value.message.startswith(f"x.yaml:{line}: ")
    assert words in caught.value.message
    assert len(caught.value.message) < 200
    assert caught.value.hint
    assert len(caught.value.problems) == 1
