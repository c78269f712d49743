"""The JSON Schemas are those of the spec, and agree with what validation accepts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from llmcalc.catalog.schema import FILES, json_schema, result_schema
from llmcalc.catalog.yamlfile import decoded, read
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec
from tests.catalog.conftest import CARD, GPU
from tests.catalog.test_bad_files import CARDS, SPECS, Bad

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("file", FILES)
def test_the_committed_schema_is_current(file: str) -> None:
    written = json.loads((ROOT / file).read_text(encoding="utf-8"))
    assert written == json_schema(FILES[file]), "run `python tools/schemas.py`"


@pytest.mark.parametrize("file", FILES)
def test_every_file_names_its_schema_and_follows_it(file: str) -> None:
    validator = Draft202012Validator(json_schema(FILES[file]))
    schema = Path(file).name
    for path in sorted((ROOT / file).parent.glob("*.yaml")):
        text = decoded(path.read_bytes(), path.name)
        assert text.startswith(f"# yaml-language-server: $schema={schema}\n"), path.name
        assert [one.message for one in validator.iter_errors(read(text, path.name).data)] == []


@pytest.mark.parametrize("kind", [ModelCard, GpuSpec])
def test_a_schema_is_a_schema(kind: type[ModelCard | GpuSpec]) -> None:
    Draft202012Validator.check_schema(json_schema(kind))


def errors(kind: type[ModelCard | GpuSpec], text: str) -> list[str]:
    validator = Draft202012Validator(json_schema(kind))
    return [one.message for one in validator.iter_errors(read(text, "x.yaml").data)]


def test_valid_files_follow_the_schema() -> None:
    assert errors(ModelCard, CARD) == []
    assert errors(GpuSpec, GPU) == []


def is_typed(bad: Bad) -> bool:
    """Whether a type says it: rules between fields are beyond a JSON Schema."""
    return (
        any(
            words in bad.says
            for words in ("must be", "is no key", "is missing", "no kind of part", "a whole number")
        )
        and "64.0" not in bad.says
        and "2000.0" not in bad.says
    )  # JSON Schema takes 64.0 for 64


@pytest.mark.parametrize("bad", [bad for bad in CARDS if is_typed(bad)], ids=lambda bad: bad.says)
def test_the_schema_refuses_what_validation_refuses(bad: Bad) -> None:
    assert errors(ModelCard, CARD.replace(bad.old, bad.new, 1))


@pytest.mark.parametrize("bad", [bad for bad in SPECS if is_typed(bad)], ids=lambda bad: bad.says)
def test_the_schema_of_specs_refuses_what_validation_refuses(bad: Bad) -> None:
    assert errors(GpuSpec, GPU.replace(bad.old, bad.new, 1))


def test_parts_are_described_as_they_are_written() -> None:
    schema: dict[str, Any] = json_schema(ModelCard)
    part = schema["$defs"]["Block"]["properties"]["parts"]["items"]
    kinds = "attn mla gated_deltanet kda lightning mamba1 mamba2 rwkv_time rwkv_channel mlp moe"
    assert set(part["properties"]) == set(kinds.split())
    assert "kind" not in schema["$defs"]["Attention"]["properties"]


def test_descriptions_come_from_the_docstrings() -> None:
    schema = json_schema(ModelCard)
    attention = schema["$defs"]["Attention"]["properties"]
    assert attention["num_kv_heads"]["description"].startswith("Number of key and value heads")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer."""

    total: int
    parts: tuple[str, ...] = ()


def test_a_result_has_a_schema() -> None:
    schema = result_schema(Answer)
    Draft202012Validator.check_schema(schema)
    assert schema["properties"]["total"]["type"] == "integer"
    assert schema["description"] == "An answer."
