"""`schema`: what files and results look like, for editors and scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from llmcalc.errors import UsageError
from llmcalc.report.model import Column, Report, Table

RESULTS = {
    "params": "llmcalc.api.params:ParamsResult",
    "flops": "llmcalc.api.flops:FlopsResult",
    "memory": "llmcalc.api.memory_result:MemoryResult",
    "speed": "llmcalc.api.speed_result:SpeedResult",
    "fit": "llmcalc.api.fit_train:Placement",
    "train": "llmcalc.api.train:TrainResult",
    "rlhf": "llmcalc.api.rlhf:RlhfResult",
    "check": "llmcalc.api.check:CheckResult",
    "validate": "llmcalc.api.validate:ValidateResult",
    "bench": "llmcalc.api.bench_result:BenchResult",
    "models": "llmcalc.api.models:ModelRow",
    "gpus": "llmcalc.api.gpus:GpuRow",
    "show": "llmcalc.api.show:Shown",
    "import": "llmcalc.api.import_:ImportResult",
    "schema": "llmcalc.api.schema:PublishedSchema",
}
"""The type of one result, by command."""

FILES = {
    "card": "llmcalc.spec.card:ModelCard",
    "gpu": "llmcalc.spec.gpu:GpuSpec",
}
"""The dataclass that a kind of file holds."""

_COLUMNS = (Column(key="name", title="name"), Column(key="describes", title="describes"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSchema:
    """A JSON Schema of this release."""

    name: str
    """card, gpu or a command."""
    describes: str
    """What it is the form of."""
    json_schema: dict[str, Any] | None = None
    """The schema; null where only names were asked for."""
    assumptions: Mapping[str, str] = field(default_factory=dict)
    basis: str = "exact"


def schema(name: str | None = None) -> Report:
    """The JSON Schema of that name, or the list of names. Raises UsageError for an unknown one."""
    if name is None:
        rows = tuple((one, _describes(one)) for one in (*FILES, *RESULTS))
        listed = tuple(PublishedSchema(name=one, describes=what) for one, what in rows)
        return Report(
            command="schema", results=listed, tables=(Table(columns=_COLUMNS, rows=rows),)
        )
    found = _schema(name)
    published = PublishedSchema(name=name, describes=_describes(name), json_schema=found)
    text = json.dumps(found, indent=2, ensure_ascii=False)
    return Report(command="schema", results=(published,), tables=(), text=text)


def _schema(name: str) -> dict[str, Any]:
    from llmcalc.catalog.schema import json_schema, result_schema  # noqa: PLC0415  (loads pydantic)

    if name in FILES:
        return json_schema(_named(FILES[name]))
    if name in RESULTS:
        return _envelope(name, result_schema(_named(RESULTS[name])))
    from llmcalc.catalog.suggest import did_you_mean  # noqa: PLC0415  (only on the way to an error)

    raise UsageError(f"no schema {name[:100]!r}", hint=did_you_mean(name, (*FILES, *RESULTS)))


def _envelope(command: str, result: dict[str, Any]) -> dict[str, Any]:
    """The object that --json prints, around the schema of one result."""
    outer: dict[str, Any] = {key: result.pop(key) for key in ("$schema", "$defs") if key in result}
    return {
        **outer,
        "title": f"llmcalc/{command}/1",
        "type": "object",
        "properties": {
            "schema": {"const": f"llmcalc/{command}/1"},
            "results": {"type": "array", "items": result},
            "steps": {"type": "array", "items": {"type": "object"}},
        },
        "required": ["schema", "results"],
        "additionalProperties": False,
    }


def _describes(name: str) -> str:
    files = {"card": "a model card (model_cards/*.yaml)", "gpu": "a GPU spec (gpu_specs/*.yaml)"}
    return files.get(name, f"llmcalc {name} --json")


def _named(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
