"""The family of every model_type that is understood, and why others are not yet."""

from __future__ import annotations

FAMILIES = {
    "arcee": "arcee", "bloom": "bloom", "cohere": "cohere", "cohere2": "cohere",
    "deepseek": "deepseek", "deepseek_v2": "deepseek", "deepseek_v3": "deepseek",
    "ernie4_5": "ernie", "ernie4_5_moe": "ernie", "falcon": "falcon",
    "gemma": "gemma", "gemma2": "gemma", "gemma3_text": "gemma",
    "glm": "glm", "glm4": "glm", "glm4_moe": "glm",
    "gpt2": "gpt", "gpt_bigcode": "starcoder", "gpt_neo": "gpt-neo", "gpt_neox": "gpt-neox",
    "gpt_oss": "gpt-oss", "gptj": "gpt-j",
    "granite": "granite", "granitemoe": "granite", "granitemoeshared": "granite",
    "grok-1": "grok",
    "hunyuan_v1_dense": "hunyuan", "hunyuan_v1_moe": "hunyuan",
    "internlm2": "internlm", "kimi_k2": "kimi", "mimo_v2_flash": "mimo",
    "llama": "llama", "llama4_text": "llama", "minimax_m2": "minimax",
    "ministral": "mistral", "ministral3": "mistral", "mistral": "mistral", "mixtral": "mistral",
    "mpt": "mpt", "nemotron": "nemotron", "nemotron-nas": "nemotron",
    "olmo": "olmo", "olmo2": "olmo", "olmo3": "olmo", "olmoe": "olmo", "opt": "opt",
    "phi": "phi", "phi3": "phi", "phimoe": "phi",
    "qwen2": "qwen", "qwen2_moe": "qwen", "qwen3": "qwen", "qwen3_moe": "qwen",
    "seed_oss": "seed", "smollm3": "smollm", "starcoder2": "starcoder",
}  # fmt: skip

_ENCODER = "encoders without a language-model head"
_TWO = "encoder and decoder stacks"
_STATE = "state-space layers"
_SPARSE = "sparse attention with an indexer"
_IMAGES = "models with images or sound"
LATER = {
    "arctic": "a dense part beside the experts", "bert": _ENCODER, "roberta": _ENCODER,
    "deberta": _ENCODER, "deberta-v2": _ENCODER, "distilbert": _ENCODER, "albert": _ENCODER,
    "electra": _ENCODER, "xlm-roberta": _ENCODER, "modernbert": _ENCODER,
    "t5": _TWO, "mt5": _TWO, "bart": _TWO, "mbart": _TWO, "whisper": _TWO, "t5gemma": _TWO,
    "mamba": _STATE, "mamba2": _STATE, "falcon_mamba": _STATE, "jamba": _STATE, "bamba": _STATE,
    "zamba": _STATE, "zamba2": _STATE, "nemotron_h": _STATE, "falcon_h1": _STATE,
    "granitemoehybrid": _STATE, "rwkv": "recurrent layers", "recurrent_gemma": "recurrent layers",
    "qwen3_next": "linear attention", "kimi_linear": "linear attention",
    "minimax": "linear attention",
    "deepseek_v32": _SPARSE, "glm_moe_dsa": _SPARSE, "deepseek_v4": _SPARSE,
    "minimax_m3_vl_text": _SPARSE, "longcat_flash": "two attentions a layer and zero experts",
    "step3p7": "layers with different heads",
    "gemma3n_text": "embeddings for each layer", "gemma3n": "embeddings for each layer",
    "gemma4_text": "embeddings for each layer",
    "gemma3": _IMAGES, "gemma4": _IMAGES, "llama4": _IMAGES, "llava": _IMAGES, "mllama": _IMAGES,
    "internvl": _IMAGES, "qwen2_vl": _IMAGES, "qwen2_5_vl": _IMAGES, "qwen3_vl": _IMAGES,
    "qwen3_vl_moe": _IMAGES, "qwen3_5": _IMAGES, "qwen3_5_moe": _IMAGES, "mistral3": _IMAGES,
    "paligemma": _IMAGES, "idefics3": _IMAGES,
}  # fmt: skip
