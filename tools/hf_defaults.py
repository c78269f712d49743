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
    bert roberta xlm-roberta camembert distilbert electra mpnet deberta-v2 modernbert
    t5 mt5 umt5 bart plbart mbart pegasus marian blenderbot blenderbot-small m2m_100 whisper
    gemma3 llava llava_next qwen2_vl qwen2_5_vl qwen3_vl qwen3_vl_moe qwen3_5 qwen3_5_moe internvl
    llama4 mistral3 paligemma idefics3 smolvlm glm4v glm4v_moe cohere2_vision aya_vision
    siglip_vision_model clip_vision_model pixtral gemma3n gemma4
    deepseek_v32 glm_moe_dsa glm4_moe_lite longcat_flash minimax_m3_vl_text step3p7 deepseek_v4
    minicpm3 exaone4 dots1
    mamba mamba2 falcon_mamba rwkv jamba bamba granitemoehybrid falcon_h1 nemotron_h
    qwen3_next kimi_linear olmo_hybrid minimax
""".split()  # noqa: SIM905 (a table)


def main() -> None:
    """Write the file that the command line names."""
    import transformers  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 (a tool's dependency, not the project's)

    classes = {name: transformers.CONFIG_MAPPING[name] for name in MODEL_TYPES}
    for config in tuple(classes.values()):
        classes |= {one.config_class.model_type: one.config_class for one in _fixed(config)}
    types = {name: _of_class(classes[name]) for name in sorted(classes)}
    lines = [f'  "{name}": {json.dumps(facts, sort_keys=True)}' for name, facts in types.items()]
    version = transformers.__version__
    head = {
        "source": f"configuration classes of transformers {version} (Apache-2.0), PyPI",
        "written_by": "tools/hf_defaults.py",
        "transformers": version,
    }
    text = json.dumps(head, indent=1)[:-2] + ',\n "types": {\n' + ",\n".join(lines) + "\n }\n}\n"
    Path(sys.argv[1]).write_text(text, encoding="utf-8")


def _fixed(config: Any) -> list[Any]:
    """The parts of a composite that have one class whatever their model_type says."""
    parts = getattr(config, "sub_configs_defaults", {}).values()
    return [one for one in parts if getattr(one.config_class, "model_type", "")]


def _of_class(config: Any) -> dict[str, Any]:
    """The fields with a plain default, keys that stand for another one, parts of a composite."""
    from transformers import PreTrainedConfig  # noqa: PLC0415

    aliases = {key: to for key, to in (config.attribute_map or {}).items() if key != to}
    common = {field.name for field in fields(PreTrainedConfig)}
    defaults = {}
    for field in fields(config):
        if field.name not in common and field.default is not MISSING and _plain(field.default):
            name, value = aliases.get(field.name, field.name), field.default
            defaults[name] = list(value) if isinstance(value, tuple) else value
    facts = {"aliases": aliases, "defaults": defaults}
    parts = {
        key: {"type": one.model_type, "fixed": one in _fixed(config), "given": one.init_kwargs}
        for key, one in getattr(config, "sub_configs_defaults", {}).items()
    }
    return facts | ({"parts": parts} if parts else {})


def _plain(value: Any) -> bool:
    inside = value if isinstance(value, tuple) else (value,)
    return all(one is None or isinstance(one, bool | int | float | str) for one in inside)


if __name__ == "__main__":
    main()
