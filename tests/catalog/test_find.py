"""What a user types becomes a card or a spec, or one error with the right exit code."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import llmcalc
from llmcalc.catalog import cache, find
from llmcalc.errors import InvalidFileError, LlmcalcError, UnknownNameError
from tests.catalog.conftest import CARD, GPU


def card_text(name: str, *aliases: str, width: int = 64) -> str:
    """The valid card under another name."""
    text = CARD.replace("name: tiny", f"name: {name}\naliases: {json.dumps(list(aliases))}")
    return text.replace("hidden_size: 64", f"hidden_size: {width}")


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with three cards and one spec beside it, and an empty folder to stand in."""
    cache._fingerprint()  # of this very code, wherever the catalog stands
    package = tmp_path / "site" / "llmcalc"
    package.mkdir(parents=True)
    monkeypatch.setattr(llmcalc, "__file__", str(package / "__init__.py"))
    models, specs = tmp_path / "site" / "model_cards", tmp_path / "site" / "gpu_specs"
    models.mkdir()
    specs.mkdir()
    (models / "llama2-7b.yaml").write_text(card_text("llama2-7b", "meta-llama/Llama-2-7b-hf"))
    (models / "llama2-13b.yaml").write_text(card_text("llama2-13b", "llama-2-13b"))
    (models / "qwen2.5-7b.yaml").write_text(card_text("qwen2.5-7b"))
    (models / "card.schema.json").write_text("{}")
    (specs / "g1.yaml").write_text(GPU.replace("vendor:", "aliases: [g-one]\nvendor:"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return models


@pytest.fixture
def own(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own folder of cards."""
    folder = shipped.parents[1] / "own"
    folder.mkdir()
    monkeypatch.setenv("LLMCALC_CARDS", f"{folder}{os.pathsep}")
    return folder


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("llama2-7b", "llama2-7b"),
        ("LLaMA2-7B", "llama2-7b"),
        ("llama2_7b", "llama2-7b"),
        (" llama2 7b ", "llama2-7b"),
        ("meta-llama/Llama-2-7b-hf", "llama2-7b"),
        ("Llama_2-13b", "llama2-13b"),
        ("qwen2.5-7b", "qwen2.5-7b"),
    ],
)
@pytest.mark.usefixtures("shipped")
def test_names_and_aliases_are_found_however_they_are_spelled(typed: str, name: str) -> None:
    assert find.card(typed).name == name


def test_an_alias_of_an_earlier_run_is_looked_up_in_the_file_of_now(shipped: Path) -> None:
    """The first search reads every file, the second one; a moved alias is found where it is now."""
    one, other = "llama2-13b", "qwen2.5-7b"
    assert find.card("llama-2-13b").name == one
    assert find.card("llama-2-13b").name == one
    (shipped / f"{one}.yaml").write_text(card_text(one))
    (shipped / f"{other}.yaml").write_text(card_text(other, "llama-2-13b"))
    assert find.card("llama-2-13b").name == other
    (shipped / f"{other}.yaml").unlink()
    with pytest.raises(UnknownNameError):
        find.card("llama-2-13b")


@pytest.mark.parametrize("padding", [2**15 - 1, 2**15, 2**16, 2**19])
@pytest.mark.usefixtures("shipped")
def test_a_file_is_read_to_its_end(padding: int, tmp_path: Path) -> None:
    """However much of it is a remark at its start."""
    (tmp_path / "long.yaml").write_text(f"#{'x' * padding}\n{card_text('long')}")
    assert find.card(str(tmp_path / "long.yaml")).name == "long"


@pytest.mark.usefixtures("shipped")
def test_gpus_are_found_by_name_alias_and_path(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(GPU.replace("name: g1", "name: mine"))
    assert find.gpu("G1").name == "g1"
    assert find.gpu("g_one").name == "g1"
    assert find.gpu(str(tmp_path / "mine.yaml")).name == "mine"
    assert [spec.name for spec in find.gpus()] == ["g1"]


@pytest.mark.usefixtures("shipped")
def test_names_for_completion_include_aliases() -> None:
    assert find.card_names() == (
        "llama-2-13b",
        "llama2-13b",
        "llama2-7b",
        "meta-llama/Llama-2-7b-hf",
        "qwen2.5-7b",
    )
    assert find.gpu_names() == ("g-one", "g1")


@pytest.mark.usefixtures("shipped")
def test_cards_inside_the_package_come_before_cards_beside_it(tmp_path: Path) -> None:
    inside = tmp_path / "site" / "llmcalc" / "model_cards"
    inside.mkdir()
    (inside / "only.yaml").write_text(card_text("only"))
    assert [card.name for card in find.cards()] == ["only"]


def test_the_users_card_wins_over_the_shipped_one(own: Path) -> None:
    (own / "any-file-name.yml").write_text(card_text("llama2-7b", width=128))
    assert find.card("llama2-7b").hidden_size == 128
    assert [card.hidden_size for card in find.cards()] == [64, 128, 64]


def test_a_users_alias_wins_over_a_shipped_name(own: Path) -> None:
    (own / "mine.yaml").write_text(card_text("mine", "llama2-7b"))
    assert find.card("llama2-7b").name == "mine"


def test_a_broken_card_of_the_user_breaks_no_other(own: Path) -> None:
    (own / "broken.yaml").write_text("name: [")
    heard: list[InvalidFileError] = []
    assert find.card("llama2-7b").name == "llama2-7b"
    assert len(find.cards(heard.append)) == 3
    assert [error.message.split(": ")[0] for error in heard] == [f"{own / 'broken.yaml'}:1"]
    assert "qwen2.5-7b" in find.card_names()


def test_asking_for_the_broken_card_says_what_is_broken(own: Path) -> None:
    (own / "broken.yaml").write_text("name: broken\nfamily: 3\n")
    with pytest.raises(InvalidFileError, match=r"broken\.yaml:\d"):
        find.card("broken")


@pytest.mark.usefixtures("shipped")
def test_a_missing_folder_of_the_user_is_reported_and_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LLMCALC_CARDS", "/does/not/exist")
    heard: list[InvalidFileError] = []
    assert len(find.cards(heard.append)) == 3
    assert "/does/not/exist" in heard[0].message


@pytest.mark.usefixtures("shipped")
def test_a_card_comes_from_a_path_or_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "here" / "mine.yaml"
    path.write_text(card_text("mine"))
    assert find.card(str(path)).name == "mine"
    assert find.card("mine.yaml").name == "mine"
    assert find.card("./mine.yaml").name == "mine"
    piped = SimpleNamespace(buffer=io.BytesIO(card_text("piped").encode()))
    monkeypatch.setattr("sys.stdin", piped)
    assert find.card("-").name == "piped"


@pytest.mark.usefixtures("shipped")
def test_an_edited_card_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(card_text("mine"))
    assert find.card(str(path)).hidden_size == 64
    path.write_text(card_text("mine", width=128))
    assert find.card(str(path)).hidden_size == 128


@pytest.mark.usefixtures("shipped")
def test_a_broken_card_on_stdin_names_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"")))
    with pytest.raises(InvalidFileError, match=r"<stdin>:1: the file is empty"):
        find.card("-")


LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "vocab_size": 100,
    "max_position_embeddings": 512,
}


@pytest.mark.usefixtures("shipped")
def test_a_config_is_named_for_its_folder_or_its_file(tmp_path: Path) -> None:
    folder = tmp_path / "here" / "My Model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA))
    (folder / "other.json").write_text(json.dumps(LLAMA))
    for typed, name in (
        (str(folder), "my-model"),
        ("My Model", "my-model"),
        (str(folder / "config.json"), "my-model"),
        (str(folder / "other.json"), "other"),
    ):
        card = find.card(typed)
        assert (card.name, card.hidden_size) == (name, 64)


UNKNOWN = [
    ("lama2-7b", "no model named lama2-7b", "did you mean llama2-7b?"),
    ("meta-llama/Llama-2-7b", "no model named", "did you mean meta-llama/Llama-2-7b-hf?"),
    ("some-org/unheard-of", "no model named some-org/unheard-of", "--online"),
    ("zzz", "no model named zzz", "`llmcalc models`"),
    ("", "no model named ''", "`llmcalc models`"),
    ("a\nb", r"no model named 'a\nb'", "`llmcalc models`"),
    ("\0", r"no model named '\x00'", "`llmcalc models`"),
    ("x" * 500, "no model named", "`llmcalc models`"),
    ("missing.yaml", "no file at missing.yaml", "check the path"),
    ("./missing", "no file at ./missing", "check the path"),
    ("/no/such/config.json", "no file at /no/such/config.json", "check the path"),
    ("missing.gguf", "no file at missing.gguf", "check the path"),
]


@pytest.mark.parametrize(("typed", "says", "hint"), UNKNOWN, ids=[repr(u[0][:20]) for u in UNKNOWN])
@pytest.mark.usefixtures("shipped")
def test_what_nothing_is_named_is_unknown(typed: str, says: str, hint: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        find.card(typed)
    assert says in caught.value.message
    assert hint in caught.value.hint
    assert len(caught.value.message) < 160
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("typed", ["g2", "missing.yaml", "", "\0", "a/b"])
@pytest.mark.usefixtures("shipped")
def test_an_unknown_gpu_has_a_hint(typed: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        find.gpu(typed)
    assert caught.value.hint


BAD = [
    ("empty.yaml", b"", "is empty"),
    ("binary.yaml", b"\x7fELF\xff\xfe", "no UTF-8"),
    ("large.yaml", b"a" * (2**20 + 1), "more than 1048576 bytes"),
    ("empty.json", b"", "empty.json:1:"),
    ("list.json", b"[]", "no mapping"),
    ("broken.json", b'{\n"a": }', "broken.json:2:"),
    ("binary.json", b"\xff\xfe", "no JSON"),
    ("deep.json", b"[" * 100_000, "levels of nesting"),
    ("digits.json", b'{"a": ' + b"9" * 5000 + b"}", "limit"),
    ("twice.json", b'{"hidden_size": 8, "hidden_size": 16}', "stands here twice"),
    ("nan.json", b'{"hidden_size": NaN}', "NaN is no number"),
    ("model.gguf", b"GGUF", "ends inside a number"),
    ("model.safetensors", b"x", "no header"),
    ("notes.txt", b"hello", "no mapping"),
]


@pytest.mark.parametrize(("name", "content", "says"), BAD, ids=[bad[0] for bad in BAD])
@pytest.mark.usefixtures("shipped")
def test_a_file_that_is_no_card_is_invalid(
    name: str, content: bytes, says: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidFileError) as caught:
        find.card(str(tmp_path / name))
    assert says in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert caught.value.exit_code == 4


@pytest.mark.usefixtures("shipped")
def test_a_folder_needs_a_config(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match=r"holds no config\.json"):
        find.card(str(tmp_path))


@pytest.mark.usefixtures("shipped")
def test_a_folder_named_like_a_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").mkdir()
    for ask in (find.gpu, find.card):
        with pytest.raises(InvalidFileError):
            ask(str(tmp_path / "x.yaml"))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
@pytest.mark.usefixtures("shipped")
def test_a_file_that_may_not_be_read_is_invalid(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(CARD)
    (tmp_path / "x.yaml").chmod(0)
    with pytest.raises(InvalidFileError, match="cannot be read"):
        find.card(str(tmp_path / "x.yaml"))


def test_a_name_cannot_leave_the_folder(shipped: Path) -> None:
    (shipped.parent / "secret.yaml").write_text(card_text("secret"))
    for typed in ("../secret", "x/../../secret"):
        with pytest.raises(LlmcalcError):
            find.card(typed)


@pytest.mark.usefixtures("shipped")
def test_two_hundred_cards_come_quickly_from_a_warm_cache(own: Path) -> None:
    for n in range(200):
        (own / f"m{n}.yaml").write_text(card_text(f"m{n}"))
    find.cards()
    started = time.perf_counter()
    assert len(find.cards()) == 203
    assert time.perf_counter() - started < 1.0  # 0.01 s on an idle core; a busy one may take longer
