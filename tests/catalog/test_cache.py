"""The cache saves time and nothing else: whatever is wrong with it, the answer is the same."""

from __future__ import annotations

import io
import os
import pickle
import stat
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from llmcalc.catalog import cache as module
from llmcalc.catalog.cache import Cache
from llmcalc.errors import InvalidFileError
from llmcalc.spec.card import ModelCard
from tests.catalog.conftest import CARD

RAW = CARD.encode()


@pytest.fixture
def path(cache_folder: Path) -> Path:
    """Where a cache that holds one card was saved."""
    file = cache_folder / "cards.pickle"
    filled = Cache(ModelCard, str(file))
    filled.value(RAW, "x.yaml")
    filled.save()
    return file


@pytest.fixture
def validations(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The contents that had to be validated."""
    seen: list[bytes] = []
    real: Callable[..., tuple[tuple[str, ...], bytes]] = module._fresh

    def counted(kind: type, raw: bytes, origin: str) -> tuple[tuple[str, ...], bytes]:
        seen.append(raw)
        return real(kind, raw, origin)

    monkeypatch.setattr(module, "_fresh", counted)
    return seen


def test_a_saved_card_is_not_validated_again(path: Path, validations: list[bytes]) -> None:
    again = Cache(ModelCard, str(path))
    assert again.value(RAW, "x.yaml").hidden_size == 64
    assert again.names(RAW, "x.yaml") == ("tiny",)
    assert validations == []


def test_an_edited_card_is_validated(path: Path, validations: list[bytes]) -> None:
    edited = RAW.replace(b"hidden_size: 64", b"hidden_size: 128")
    assert Cache(ModelCard, str(path)).value(edited, "x.yaml").hidden_size == 128
    assert validations == [edited]


def test_a_broken_card_is_an_error_every_time(path: Path) -> None:
    store = Cache(ModelCard, str(path))
    for _ in range(2):
        with pytest.raises(InvalidFileError):
            store.value(b"name: 3", "x.yaml")


class Evil:
    """Would touch a file when unpickled."""

    def __init__(self, victim: str) -> None:
        self.victim = victim

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.mkdir, (self.victim,)


def bundle(entries: object) -> bytes:
    body = pickle.dumps((module._fingerprint(), entries))
    return zlib.crc32(body).to_bytes(4, "big") + body


def test_a_cache_can_make_nothing_but_dataclasses_of_the_spec(tmp_path: Path, path: Path) -> None:
    victim = tmp_path / "made"
    path.write_bytes(bundle({RAW: (("tiny",), pickle.dumps(Evil(str(victim))))}))
    assert Cache(ModelCard, str(path)).value(RAW, "x.yaml").name == "tiny"
    path.write_bytes(bundle(Evil(str(victim))))
    assert Cache(ModelCard, str(path)).value(RAW, "x.yaml").name == "tiny"
    assert not victim.exists()


@pytest.mark.parametrize(
    "name", ["llmcalc.spec.card Name", "builtins eval", "llmcalc.spec.card re"]
)
def test_other_names_are_refused(name: str) -> None:
    opcode = f"c{name.replace(' ', chr(10))}\n.".encode()
    with pytest.raises(pickle.UnpicklingError, match="no place in the cache"):
        module._SpecOnly(io.BytesIO(opcode)).load()


@pytest.mark.parametrize(
    "foreign",
    [
        b"",
        b"abc",
        b"\0" * 1000,
        bundle(None),
        bundle({"a": 1}),
        bundle({RAW: (("tiny",), b"junk")}),
        bundle({RAW: (("tiny",), pickle.dumps("no card"))}),
        bundle({RAW: ("tiny", b"")}),
    ],
)
def test_a_foreign_cache_only_costs_time(
    foreign: bytes, path: Path, validations: list[bytes]
) -> None:
    path.write_bytes(foreign)
    assert Cache(ModelCard, str(path)).value(RAW, "x.yaml").name == "tiny"
    assert validations == [RAW]


def test_a_flipped_byte_is_noticed(path: Path, validations: list[bytes]) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert Cache(ModelCard, str(path)).value(RAW, "x.yaml").name == "tiny"
    assert validations == [RAW]


def test_other_source_code_means_another_cache(
    path: Path, validations: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_fingerprint", lambda: ("another version",))
    Cache(ModelCard, str(path)).value(RAW, "x.yaml")
    assert validations == [RAW]


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = Cache(ModelCard, str(tmp_path / "file" / "cards.pickle"))
    assert store.value(RAW, "x.yaml").name == "tiny"
    store.save()


def test_a_path_that_is_a_folder_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "cards.pickle").mkdir()
    store = Cache(ModelCard, str(tmp_path / "cards.pickle"))
    store.value(RAW, "x.yaml")
    store.save()
    assert [file.name for file in tmp_path.iterdir()] == ["cards.pickle"]


@pytest.mark.skipif(os.name != "posix", reason="permission bits")
def test_only_the_user_can_read_the_cache(path: Path) -> None:
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_full_cache_keeps_what_this_run_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_ENTRIES", 1)
    store = Cache(ModelCard, str(path))
    other = RAW.replace(b"name: tiny", b"name: other")
    store.value(other, "x.yaml")
    store.save()
    assert list(Cache(ModelCard, str(path))._entries) == [other]


def test_a_warm_cache_loads_neither_pydantic_nor_yaml(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(CARD)
    code = (
        "import sys; from llmcalc.catalog.find import card; card(sys.argv[1]);"
        "print(sorted({'pydantic', 'yaml', 'platformdirs'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "tiny.yaml")]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert [run.stdout.strip() for run in runs] == ["['pydantic', 'yaml']", "[]"]


def test_the_cache_folder_follows_the_users_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMCALC_CACHE", "/somewhere")
    assert module._folder() == os.path.abspath("/somewhere")
    monkeypatch.delenv("LLMCALC_CACHE")
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
        assert module._folder() == "/xdg/llmcalc"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        monkeypatch.setenv("HOME", "/home/me")
        assert module._folder() == "/home/me/.cache/llmcalc"
