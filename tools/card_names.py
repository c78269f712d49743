"""What a row of open model data does not say: families, dates of release, other names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

LEFT_OUT = {"glm-4-32b-0414", "command-a-111b"}
"""Rows of low confidence whose very shape is in doubt."""

FAMILIES = {
    "chatglm": "glm", "codellama": "llama", "deepseek": "deepseek", "r1-distill": "deepseek",
    "yi": "yi", "pythia": "pythia", "smollm": "smollm", "tinyllama": "tinyllama",
    "internlm": "internlm", "kimi": "kimi", "falcon": "falcon", "open-llama": "open-llama",
    "qwq": "qwen", "aya": "cohere", "llama-3.3-nemotron": "nemotron",
}  # fmt: skip
"""Families that the model_type does not give, by the start of a name."""

RELEASED = {
    "gpt2-": "2019-02", "gpt2": "2019-02", "gpt2-large": "2019-08", "gpt2-xl": "2019-11",
    "gpt3": "2020-05", "gpt-neo-": "2021-03",
    "gpt-j": "2021-06", "gpt-neox": "2022-02", "gpt-oss": "2025-08", "opt": "2022-05",
    "bloom": "2022-07", "llama-": "2023-02", "llama2": "2023-07", "codellama": "2023-08",
    "codellama-70b": "2024-01", "llama3-": "2024-04", "llama3.1": "2024-07", "llama3.2": "2024-09",
    "llama3.3": "2024-12", "llama4": "2025-04", "mistral-7b-v0.1": "2023-09",
    "mistral-7b-v0.2": "2023-12", "mistral-7b-v0.3": "2024-05", "mixtral-8x7b": "2023-12",
    "mixtral-8x22b": "2024-04", "mistral-nemo": "2024-07", "mistral-large-2407": "2024-07",
    "mistral-small-24b": "2025-01", "ministral3": "2025-12", "qwen1.5": "2024-02",
    "qwen1.5-32b": "2024-04", "qwen1.5-110b": "2024-04", "qwen1.5-moe": "2024-03",
    "qwen2-": "2024-06", "qwen2.5": "2024-09", "qwen2.5-coder-32b": "2024-11", "qwq": "2025-03",
    "qwen3": "2025-04", "qwen3-coder": "2025-07", "gemma-": "2024-02", "gemma2": "2024-06",
    "gemma2-2b": "2024-07", "gemma3": "2025-03", "gemma3-270m": "2025-08", "phi-1.5": "2023-09",
    "phi-2": "2023-12", "phi-3-mini": "2024-04", "phi-3-medium": "2024-05", "phi-3.5": "2024-08",
    "phi-4": "2024-12", "phi-4-mini": "2025-02", "deepseek-coder": "2023-11",
    "deepseek-llm": "2023-11", "deepseek-moe": "2024-01", "deepseek-v2": "2024-05",
    "deepseek-v3": "2024-12", "deepseek-r1": "2025-01", "r1-distill": "2025-01",
    "falcon-7b": "2023-05", "falcon-40b": "2023-05", "falcon-180b": "2023-09",
    "falcon3": "2024-12", "yi-6b": "2023-11", "yi-34b": "2023-11", "yi-9b": "2024-05",
    "chatglm3": "2023-10", "glm-4-9b": "2024-06", "glm-4.5": "2025-07", "glm-4.6": "2025-09",
    "kimi-k2": "2025-07", "minimax-m2": "2025-10", "grok-1": "2024-03", "starcoder-": "2023-05",
    "starcoder2": "2024-02", "olmo-": "2024-02", "olmo2": "2024-11", "olmo2-32b": "2025-03",
    "smollm2": "2024-11", "smollm-": "2024-07", "smollm3": "2025-07", "granite-3.0": "2024-10",
    "granite-3.3": "2025-04", "command-r": "2024-03", "command-r-plus": "2024-04",
    "aya-23": "2024-05", "ernie": "2025-06", "hunyuan": "2025-06", "mpt": "2023-05",
    "nemotron-4": "2024-06", "internlm2": "2024-01", "mimo-v2-flash": "2025-12",
    "llama-3.3-nemotron": "2025-03",
    "mamba-": "2023-12", "mamba2": "2024-05", "mamba-codestral": "2024-07",
    "falcon-mamba": "2024-08", "falcon-h1": "2025-05", "jamba-v0.1": "2024-03",
    "jamba-1.5": "2024-08", "bamba": "2024-12", "nemotron-h": "2025-03",
    "nemotron-nano": "2025-08", "nemotron-3-nano": "2025-12", "nemotron-3-super": "2026-03",
    "qwen3-next": "2025-09", "qwen3-coder-next": "2026-02", "kimi-linear": "2025-10",
    "granite-4.0": "2025-10", "minimax-text-01": "2025-01", "minimax-m1": "2025-06",
    "bert": "2018-10", "roberta": "2019-07", "deberta-v3": "2021-11", "t5": "2019-10",
    "flan-t5": "2022-10", "bart": "2019-10", "mbart": "2020-01", "whisper-large-v3": "2023-11",
    "gemma3n": "2025-06", "llava-1.5": "2023-10", "llava-1.6": "2024-01", "qwen2-vl": "2024-08",
    "qwen2.5-vl": "2025-01", "qwen2.5-vl-32b": "2025-03", "qwen3-vl": "2025-10",
    "qwen3-vl-235b": "2025-09", "qwen3.5": "2026-02", "internvl3": "2025-04",
    "deepseek-v3.2": "2025-12", "glm-5": "2026-02", "glm-4.1v": "2025-07", "glm-4.7": "2026-01",
    "longcat-flash": "2025-09", "mistral-small-3.1": "2025-03", "paligemma": "2024-05",
    "smolvlm-256m": "2025-01", "smolvlm2": "2025-02", "pixtral": "2024-09", "minicpm3": "2024-09",
    "exaone-4.0": "2025-07", "arctic": "2024-04",
}  # fmt: skip
"""When the authors released the weights (GPT-3: the paper); by the longest start of a name."""

UNDATED = {"minimax-m2.5", "olmo-hybrid-7b", "falcon-h1-tiny-90m"}

ALSO = {
    "gpt2": ["gpt2-small"], "llama-7b": ["llama1-7b"], "llama-13b": ["llama1-13b"],
    "llama-30b": ["llama1-30b", "llama-33b", "llama1-33b"], "llama-65b": ["llama1-65b"],
    "llama2-7b": ["meta-llama/Llama-2-7b", "meta-llama/Llama-2-7b-chat-hf",
                  "NousResearch/Llama-2-7b-hf"],
    "llama2-13b": ["meta-llama/Llama-2-13b", "meta-llama/Llama-2-13b-chat-hf"],
    "llama2-70b": ["meta-llama/Llama-2-70b", "meta-llama/Llama-2-70b-chat-hf"],
    "llama3-8b": ["meta-llama/Meta-Llama-3-8B-Instruct"],
    "llama3-70b": ["meta-llama/Meta-Llama-3-70B-Instruct"],
    "llama3.1-8b": ["meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Meta-Llama-3.1-8B",
                    "meta-llama/Meta-Llama-3.1-8B-Instruct"],
    "llama3.1-70b": ["meta-llama/Llama-3.1-70B-Instruct", "meta-llama/Meta-Llama-3.1-70B",
                     "meta-llama/Meta-Llama-3.1-70B-Instruct"],
    "llama3.1-405b": ["meta-llama/Llama-3.1-405B-Instruct", "meta-llama/Meta-Llama-3.1-405B"],
    "llama3.2-1b": ["meta-llama/Llama-3.2-1B-Instruct"],
    "llama3.2-3b": ["meta-llama/Llama-3.2-3B-Instruct"],
    "mistral-7b-v0.1": ["mistral-7b", "mistralai/Mistral-7B-Instruct-v0.1"],
    "mistral-7b-v0.3": ["mistralai/Mistral-7B-Instruct-v0.3"],
    "mistral-nemo-12b": ["mistralai/Mistral-Nemo-Instruct-2407", "mistral-nemo"],
    "mistral-large-2407": ["mistral-large", "mistralai/Mistral-Large-Instruct-2411"],
    "mistral-small-24b": ["mistral-small", "mistralai/Mistral-Small-24B-Instruct-2501"],
    "mixtral-8x7b": ["mixtral", "mistralai/Mixtral-8x7B-Instruct-v0.1"],
    "deepseek-v3": ["deepseek-ai/DeepSeek-V3-Base", "deepseek-ai/DeepSeek-V3-0324",
                    "deepseek-ai/DeepSeek-V3.1"],
    "deepseek-r1": ["deepseek-ai/DeepSeek-R1-Zero", "deepseek-ai/DeepSeek-R1-0528"],
    "deepseek-v2": ["deepseek-ai/DeepSeek-V2-Chat"],
    "deepseek-v2-lite": ["deepseek-ai/DeepSeek-V2-Lite-Chat"],
    "deepseek-llm-7b": ["deepseek-ai/deepseek-llm-7b-chat"],
    "deepseek-moe-16b": ["deepseek-ai/deepseek-moe-16b-chat"],
    "falcon-7b": ["tiiuae/falcon-7b-instruct"], "falcon-40b": ["tiiuae/falcon-40b-instruct"],
    "falcon-180b": ["tiiuae/falcon-180B-chat"],
    "yi-6b": ["01-ai/Yi-6B-Chat"], "yi-34b": ["01-ai/Yi-34B-Chat", "01-ai/Yi-1.5-34B"],
    "yi-9b": ["yi-1.5-9b", "01-ai/Yi-1.5-9B-Chat"],
    "gpt3-175b": ["gpt-3", "gpt3"], "opt-175b": [], "bloom-176b": ["bloom"],
    "phi-1.5": ["phi-1_5"], "phi-3-medium": ["phi-3-medium-4k"], "phi-3-mini": ["phi-3-mini-4k"],
    "gpt-j-6b": ["gpt-j", "gptj-6b"], "gpt-neox-20b": ["gpt-neox"],
    "starcoder-15.5b": ["starcoder"],
    "qwq-32b": ["qwq"], "grok-1": ["grok1"], "kimi-k2": ["kimi-k2-instruct"],
    "qwen3-235b-a22b": ["qwen3-235b"], "qwen3-30b-a3b": ["qwen3-30b"],
    "qwen3-coder-480b-a35b": ["qwen3-coder"], "nemotron-4-340b": ["nemotron-340b"],
    "gemma3-27b-text": [], "gemma3-4b-text": [],
    "command-r-35b": ["command-r"], "command-r-plus-104b": ["command-r-plus"],
    "hunyuan-a13b": ["hunyuan-a13b-instruct"], "glm-4-9b": ["glm4-9b"],
    "bert-base-uncased": ["bert-base", "bert", "BAAI/bge-base-en-v1.5", "bge-base-en-v1.5",
                          "intfloat/e5-base-v2", "e5-base-v2", "thenlper/gte-base"],
    "roberta-base": ["roberta"], "t5-small": [], "t5-base": ["t5"],
    "flan-t5-small": ["google/t5-v1_1-small", "t5-v1.1-small"],
    "flan-t5-base": ["google/t5-v1_1-base", "t5-v1.1-base"],
    "flan-t5-xl": ["google/t5-v1_1-xl", "t5-v1.1-xl"],
    "flan-t5-xxl": ["google/t5-v1_1-xxl", "t5-v1.1-xxl"],
    "bart-large": ["bart"], "deberta-v3-base": ["deberta-v3"],
    "whisper-large-v3": ["whisper-large", "whisper"],
    "gemma3-4b": ["google/gemma-3-4b-pt"], "gemma3-12b": ["google/gemma-3-12b-pt"],
    "gemma3-27b": ["google/gemma-3-27b-pt"], "llava-1.5-7b": ["llava"],
    "qwen3.5-27b": ["Qwen/Qwen3.6-27B", "qwen3.6-27b"],
    "qwen3.5-35b-a3b": ["Qwen/Qwen3.6-35B-A3B", "qwen3.6-35b-a3b"],
    "glm-5": ["zai-org/GLM-5.1", "glm-5.1"], "llama4-scout": ["llama-4-scout"],
    "llama4-maverick": ["llama-4-maverick"],
    "mistral-small-3.1-24b": ["mistralai/Mistral-Small-3.1-24B-Base-2503",
                              "mistralai/Mistral-Small-3.2-24B-Instruct-2506",
                              "mistral-small-3.1", "mistral-small-3.2"],
    "deepseek-v3.2": ["deepseek-ai/DeepSeek-V3.2-Exp"], "longcat-flash": ["longcat"],
    "pixtral-12b": ["pixtral"], "glm-4.5-air": ["zai-org/GLM-4.5-Air-Base"],
    "falcon-mamba-7b": ["tiiuae/falcon-mamba-7b-instruct"],
    "jamba-v0.1": ["jamba", "ai21labs/AI21-Jamba-1.5-Mini", "ai21labs/AI21-Jamba-Mini-1.5"],
    "mamba-codestral-7b": ["codestral-mamba", "codestral-mamba-7b"],
    "minimax-m1": ["MiniMaxAI/MiniMax-M1-40k"], "qwen3-next-80b-a3b": ["qwen3-next",
    "Qwen/Qwen3-Next-80B-A3B-Thinking"], "bamba-9b": ["ibm-ai-platform/Bamba-9B-v1"],
    "nemotron-3-nano-30b-a3b": ["nemotron-3-nano", "nvidia/Nemotron-Cascade-2-30B-A3B",
                                "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-Base-BF16"],
    "nemotron-3-super-120b-a12b": ["nemotron-3-super"],
    "nemotron-3-ultra-550b-a55b": ["nemotron-3-ultra"],
    "kimi-linear-48b-a3b": ["kimi-linear", "moonshotai/Kimi-Linear-48B-A3B-Base"],
    "granite-4.0-h-small": ["ibm-granite/granite-4.0-h-small-base"],
    "falcon-h1-34b": ["tiiuae/Falcon-H1-34B-Base"],
    "falcon-h1-0.5b": ["tiiuae/Falcon-H1-0.5B-Base"],
}  # fmt: skip
"""Other spellings, and releases that are sure to have the same architecture."""

INSTRUCTED = (
    ("Qwen/Qwen1.5-", "-Chat"), ("Qwen/Qwen2-", "-Instruct"), ("Qwen/Qwen2.5-", "-Instruct"),
    ("google/gemma-2-", "-it"), ("google/gemma-7b", "-it"), ("google/gemma-2b", "-it"),
    ("HuggingFaceTB/SmolLM2-", "-Instruct"), ("EleutherAI/pythia-", "-deduped"),
    ("allenai/OLMo-2-", "-Instruct"),
)  # fmt: skip
"""Start of a repository, and the end that its tuned sibling adds."""

CONFIDENCE: Mapping[str, Literal["high", "medium", "low"]] = {
    "high": "high",
    "medium": "medium",
    "low": "low",
}
OF_A_HEAD = ("-mlm", "-pretraining")
"""Ends of names of cards for a class with a head: the repository's name is the base model's."""

TEXT_ONLY = (
    "gemma3-27b-text", "gemma3-4b-text", "gemma3n-e4b-text", "llama4-scout-text",
    "ministral3-3b-text",
)  # fmt: skip
"""Language models out of a repository with a vision tower: its name is not an alias."""
