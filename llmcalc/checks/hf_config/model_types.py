"""Which model_type a card is of: by its name where a family has several, else by its family."""

from __future__ import annotations

from fnmatch import fnmatchcase

BY_NAME = (
    ("bloom*", "bloom"), ("command-a*", "cohere2"), ("command-r7b*", "cohere2"),
    ("deepseek-v3.2*", "deepseek_v32"), ("deepseek-v2*", "deepseek_v2"),
    ("deepseek-coder*", "llama"), ("deepseek-llm*", "llama"), ("r1-distill-llama*", "llama"),
    ("r1-distill-qwen*", "qwen2"), ("ernie-4.5-*-a*", "ernie4_5_moe"), ("falcon3*", "llama"),
    ("falcon-h1*", "falcon_h1"), ("falcon-mamba*", "falcon_mamba"), ("gemma-*", "gemma"),
    ("gemma2-*", "gemma2"), ("gemma3n-*-text", "gemma3n_text"), ("gemma3n-*", "gemma3n"),
    ("gemma3-270m", "gemma3_text"), ("gemma3-1b", "gemma3_text"),
    ("gemma3-*-text", "gemma3_text"), ("gemma3-*", "gemma3"), ("gemma4-*-text", "gemma4_text"),
    ("gemma4-*", "gemma4"), ("glm-5*", "glm_moe_dsa"), ("glm-4-32b*", "glm4"),
    ("glm-4.[5-9]v*", "glm4v_moe"), ("glm-4.1v*", "glm4v"), ("glm-4.7-flash*", "glm4_moe_lite"),
    ("glm-4.[5-9]*", "glm4_moe"), ("granite-3.0-*-a*", "granitemoe"),
    ("granite-3.1-*-a*", "granitemoe"), ("granite-4.0-h-*", "granitemoehybrid"),
    ("granite-4.0-*", "granitemoehybrid"), ("kimi-linear*", "kimi_linear"),
    ("llama4-*-text", "llama4_text"), ("llama4-*", "llama4"), ("mamba2-*", "mamba2"),
    ("mamba-codestral*", "mamba2"), ("minimax-text-01", "minimax"), ("minimax-m1", "minimax"),
    ("minimax-m2*", "minimax_m2"), ("mixtral*", "mixtral"), ("mistral-small-3.1*", "mistral3"),
    ("ministral3*-text", "ministral3"), ("ministral3-*", "mistral3"),
    ("nemotron-4-*", "nemotron"), ("minitron*", "nemotron"), ("nemotron-*", "nemotron_h"),
    ("olmo-hybrid*", "olmo_hybrid"), ("olmo2*", "olmo2"),
    ("olmo3*", "olmo3"), ("olmoe*", "olmoe"), ("phi-1*", "phi"), ("phi-2", "phi"),
    ("phi-3.5-moe*", "phimoe"), ("qwen1.5-moe*", "qwen2_moe"), ("qwen2-57b*", "qwen2_moe"),
    ("qwen2-vl*", "qwen2_vl"), ("qwen2.5-vl*", "qwen2_5_vl"), ("qwen3-next*", "qwen3_next"),
    ("qwen3-coder-next*", "qwen3_next"), ("qwen3.5-*-a*", "qwen3_5_moe"),
    ("qwen3.5-*", "qwen3_5"), ("qwen3.6-*-a*", "qwen3_5_moe"),
    ("qwen3.8-*", "qwen3_5"), ("stablelm-base-alpha*", "gpt_neox"),
    ("qwen3-vl-*-a*", "qwen3_vl_moe"),
    ("qwen3-vl-*", "qwen3_vl"), ("qwen3-*-a*", "qwen3_moe"), ("qwen3-*", "qwen3"),
    ("llava-1.6*", "llava_next"), ("pixtral*", "llava"), ("distilbert*", "distilbert"),
    ("mt5*", "mt5"), ("umt5*", "umt5"), ("nllb*", "m2m_100"), ("xlm-roberta*", "xlm-roberta"),
    ("camembert*", "camembert"), ("mbart*", "mbart"), ("smollm3*", "smollm3"),
    ("starcoder2*", "starcoder2"),
    ("starcoder*", "gpt_bigcode"),
)  # fmt: skip
"""A pattern and the type of the names that it fits; the first that fits counts."""

BY_FAMILY = {
    "aya": "cohere", "bamba": "bamba", "bart": "bart", "bert": "bert", "bloom": "bloom",
    "cohere": "cohere", "deberta": "deberta-v2", "deepseek": "deepseek_v3", "dots": "dots1",
    "ernie": "ernie4_5",
    "falcon": "falcon", "glm": "glm", "gpt": "gpt2", "gpt-j": "gptj", "gpt-neo": "gpt_neo",
    "gpt-neox": "gpt_neox", "gpt-oss": "gpt_oss", "granite": "granite", "hunyuan": "hunyuan_v1_moe",
    "internlm": "llama", "internvl": "internvl", "jamba": "jamba", "kimi": "deepseek_v3",
    "llama": "llama", "llava": "llava", "longcat": "longcat_flash", "mamba": "mamba",
    "mimo": "mimo_v2_flash", "mistral": "mistral", "mpt": "mpt", "olmo": "olmo",
    "open-llama": "llama", "opt": "opt", "phi": "phi3", "pythia": "gpt_neox", "qwen": "qwen2",
    "roberta": "roberta", "rwkv": "rwkv", "smollm": "llama", "t5": "t5", "tinyllama": "llama",
    "whisper": "whisper", "yi": "llama", "mpnet": "mpnet", "electra": "electra",
    "modernbert": "modernbert", "exaone": "exaone4", "minicpm": "minicpm3", "marian": "marian",
    "pegasus": "pegasus", "m2m100": "m2m_100", "blenderbot": "blenderbot",
    "paligemma": "paligemma", "smolvlm": "smolvlm",
}  # fmt: skip

NO_CLASS = {
    "arctic*": "its class is remote code; transformers has none",
    "deepseek-moe-16b*": "its class is remote code; transformers has none",
    "deepseek-v4*": "the class of transformers 5.24.0 is not mapped",
    "grok-1": "published as JAX code; transformers has no class",
    "llama-3*nemotron*": "DeciLM of per-layer shapes is remote code; transformers has no class",
    "gemma3n-*[!t]": "its vision tower is built by timm, which is not installed with transformers",
    "step-3*": "the class of transformers 5.24.0 is not mapped",
    "minimax-m3*": "the class of transformers 5.24.0 is not mapped",
}
"""Cards that no class of transformers can witness, and why."""

STAND_INS = {
    "chatglm3-6b": "remote code; the same architecture as the GLM class",
    "internlm2-7b": "remote code, queries, keys and values in one matrix; else LLaMA",
    "kimi-k2*": "remote code that extends the DeepSeek-V3 class",
    "minimax-text-01": "remote code; the class of the converted release",
    "minimax-m1": "remote code; the class of the converted release of MiniMax-01",
    "gpt3-175b": "never released; the GPT-2 class",
    "opt-175b": "weights on request only; the OPT class",
}
"""Cards whose own class is elsewhere, and which class witnesses for it."""


def model_type(name: str, family: str) -> str | None:
    """The model_type of a card, or None where nothing tells."""
    named = (kind for pattern, kind in BY_NAME if fnmatchcase(name, pattern))
    return next(named, BY_FAMILY.get(family))


def why_no_class(name: str) -> str | None:
    """Why no class of transformers can witness for a card, if none can."""
    return _of(name, NO_CLASS)


def stand_in(name: str) -> str | None:
    """Why the class that witnesses for a card is not its own, if it is not."""
    return _of(name, STAND_INS)


def _of(name: str, table: dict[str, str]) -> str | None:
    return next((why for pattern, why in table.items() if fnmatchcase(name, pattern)), None)
