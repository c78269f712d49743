"""JSON Schemas of the files, for editors, and of the results, for scripts; made from the spec."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, TypeAdapter

from llmcalc.catalog import expected
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FILES: dict[str, type[ModelCard | GpuSpec]] = {
    "model_cards/card.schema.json": ModelCard,
    "gpu_specs/gpu.schema.json": GpuSpec,
}
"""Path in the repository to what the files beside it hold."""

Schema = dict[str, Any]


def json_schema(kind: type[ModelCard | GpuSpec]) -> Schema:
    """The schema of a file that holds `kind`, in the form in which the file is written."""
    config = ConfigDict(extra="forbid", use_attribute_docstrings=True)
    around: Any = kind | None
    schema = TypeAdapter(around, config=config).json_schema()
    definitions: Schema = schema["$defs"]
    root: Schema = definitions.pop(kind.__name__)
    for part in expected.KINDS.values():
        if part.__name__ in definitions:
            # In a file the tag is the key before the part.
            del definitions[part.__name__]["properties"]["kind"]
    if "Block" in definitions:
        definitions["Block"]["properties"]["parts"]["items"] = _part()
    return {"$schema": DIALECT, **_lean(root), "$defs": _lean(definitions)}


def result_schema(kind: type) -> Schema:
    """The schema of a result dataclass as `--json` prints it."""
    return {"$schema": DIALECT, **TypeAdapter(kind).json_schema(mode="serialization")}


def _lean(schema: Any) -> Any:
    """The schema without the titles that repeat a key, and closed where keys follow a pattern."""
    if isinstance(schema, list):
        return [_lean(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: _lean(one)
        for key, one in schema.items()
        if not (key == "title" and isinstance(one, str))
    }
    return kept | ({"additionalProperties": False} if "patternProperties" in kept else {})


def _part() -> Schema:
    """One part: a mapping with one key, its kind."""
    properties = {tag: {"$ref": f"#/$defs/{one.__name__}"} for tag, one in expected.KINDS.items()}
    return {
        "type": "object",
        "description": "One part, as `attn: {num_heads: 32}`.",
        "properties": properties,
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    }
