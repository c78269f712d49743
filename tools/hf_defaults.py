"""Write the class defaults that the importer of Hugging Face configs needs.

Run once for a version of transformers, in an environment that has it (torch is not needed):

    python tools/hf_defaults.py llmcalc/catalog/huggingface/defaults.json
"""

from __future__ import annotations

import json
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

MODEL_TYPES = """
    arcee bloom cohere cohere2 deepseek_v2 deepseek_v3
    ernie4_5 ernie4_5_moe falcon gemma gemma2 gemma3_text
    glm glm4 glm4_moe gpt2 gpt_bigcode gpt_neo
    gpt_neox gpt_oss gptj granite granitemoe granitemoeshared
    hunyuan_v1_dense hunyuan_v1_moe llama llama4_text mimo_v2_flash minimax_m2
    ministral ministral3 mistral mixtral mpt nemotron
    olmo olmo2 olmo3 olmoe opt phi
    phi3 phimoe qwen2 qwen2_moe qwen3 qwen3_moe
    seed_oss smollm3 starcoder2
""".split()  # noqa: SIM905 (a table)


def main() -> None:
    """Write the file that the command line names."""
    import transformers  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 (a tool's dependency, not the project's)

    types = {name: _of_class(name) for name in sorted(MODEL_TYPES)}
    lines = [f'  "{name}": {json.dumps(facts, sort_keys=True)}' for name, facts in types.items()]
    version = transformers.__version__
    head = {
        "source": f"configuration classes of transformers {version} (Apache-2.0), PyPI",
        "written_by": "tools/hf_defaults.py",
        "transformers": version,
    }
    text = json.dumps(head, indent=1)[:-2] + ',\n "types": {\n' + ",\n".join(lines) + "\n }\n}\n"
    Path(sys.argv[1]).write_text(text, encoding="utf-8")


def _of_class(name: str) -> dict[str, Any]:
    """The fields with a plain default, and the keys that stand for another one."""
    from transformers import CONFIG_MAPPING, PreTrainedConfig  # noqa: PLC0415

    config = CONFIG_MAPPING[name]
    aliases = {key: to for key, to in (config.attribute_map or {}).items() if key != to}
    common = {field.name for field in fields(PreTrainedConfig)}
    defaults = {}
    for field in fields(config):
        plain = field.default is None or isinstance(field.default, bool | int | float | str)
        if field.name not in common and field.default is not MISSING and plain:
            defaults[aliases.get(field.name, field.name)] = field.default
    return {"aliases": aliases, "defaults": defaults}


if __name__ == "__main__":
    main()
