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
    "bert": "bert", "roberta": "roberta", "xlm-roberta": "roberta", "camembert": "roberta",
    "distilbert": "bert", "electra": "electra", "mpnet": "mpnet", "deberta-v2": "deberta",
    "modernbert": "modernbert",
    "t5": "t5", "mt5": "t5", "umt5": "t5", "bart": "bart", "plbart": "bart", "mbart": "bart",
    "pegasus": "pegasus", "marian": "marian", "m2m_100": "m2m100", "whisper": "whisper",
    "blenderbot": "blenderbot", "blenderbot-small": "blenderbot",
    "mamba": "mamba", "mamba2": "mamba", "falcon_mamba": "falcon", "rwkv": "rwkv",
    "jamba": "jamba", "bamba": "bamba", "granitemoehybrid": "granite", "falcon_h1": "falcon",
    "nemotron_h": "nemotron", "qwen3_next": "qwen", "kimi_linear": "kimi", "olmo_hybrid": "olmo",
    "deepseek_v32": "deepseek", "glm_moe_dsa": "glm", "glm4_moe_lite": "glm",
    "minicpm3": "minicpm", "longcat_flash": "longcat", "exaone4": "exaone", "dots1": "dots",
    "glm4v": "glm", "glm4v_moe": "glm",
    "gemma3n": "gemma", "gemma3n_text": "gemma", "gemma4": "gemma", "gemma4_text": "gemma",
    "gemma3": "gemma", "llava": "llava", "llava_next": "llava", "mistral3": "mistral",
    "internvl": "internvl", "paligemma": "paligemma", "idefics3": "idefics", "smolvlm": "smolvlm",
    "cohere2_vision": "cohere", "aya_vision": "cohere", "llama4": "llama", "qwen2_vl": "qwen",
    "qwen2_5_vl": "qwen", "qwen3_vl": "qwen", "qwen3_vl_moe": "qwen", "qwen3_5": "qwen",
    "qwen3_5_moe": "qwen", "qwen3_5_text": "qwen", "qwen3_5_moe_text": "qwen",
    "minimax": "minimax", "minimax_text_01": "minimax", "minimax_m1": "minimax",
}  # fmt: skip

_ENCODER = "encoders without a language-model head"
_TWO = "encoder and decoder stacks"
_SHARED = "attention blocks that several layers share"
_SHORT = "gated short convolutions"
_RWKV = "a later RWKV than the fourth"
_SPARSE = "sparse attention with an indexer"
_IMAGES = "models with images or sound"
_UNREAD = """
    mllama kimi_vl kimi_k25 ernie4_5_vl ernie4_5_vl_moe qwen2_5_omni qwen3_omni_moe blip-2
    instructblip idefics idefics2 chameleon janus florence2 ovis2 phi3_v phi4_multimodal
    llava_onevision llava_next_video video_llava vipllava fuyu kosmos-2 deepseek_vl deepseek_vl_v2
    internvl_chat minicpmv molmo glm_ocr lfm2_vl voxtral qwen2_audio
""".split()  # noqa: SIM905 (a table)
LATER = {
    "arctic": "a dense part beside the experts", "deberta": _ENCODER,
    "albert": "layers that share their parameters", "longt5": "attention over blocks of tokens",
    "led": "attention over windows and chosen tokens", "t5gemma": _TWO,
    "zamba": _SHARED, "zamba2": _SHARED, "recurrent_gemma": "gated linear recurrences",
    "lfm2": _SHORT, "lfm2_moe": _SHORT, "rwkv5": _RWKV, "rwkv6": _RWKV, "rwkv7": _RWKV,
    "deepseek_v4": "hyper-connections and compressed caches",
    "minimax_m3": _SPARSE, "minimax_m3_vl": _SPARSE, "minimax_m3_vl_text": _SPARSE,
    "step3p5": "layers with different heads", "step3p7": "layers with different heads",
    **dict.fromkeys(_UNREAD, _IMAGES),
}  # fmt: skip
