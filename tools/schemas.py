"""Write the JSON Schemas that the YAML files name: `python tools/schemas.py`."""

from __future__ import annotations

import json
from pathlib import Path

from llmcalc.catalog.schema import FILES, json_schema

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Write each schema beside the files that it describes."""
    for file, kind in FILES.items():
        path = ROOT / file
        path.parent.mkdir(exist_ok=True)
        text = json.dumps(json_schema(kind), indent=2, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
