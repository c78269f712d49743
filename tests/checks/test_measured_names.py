"""Names as logs and hubs write them, and what they mean."""

from __future__ import annotations

import pytest

from llmcalc.catalog.find import cards, gpus
from llmcalc.checks.measured import engines
from llmcalc.checks.measured.formats import file_type, kv_formats, weight_format
from llmcalc.checks.measured.gpu_names import board, gpu
from llmcalc.checks.measured.model_facts import Facts, chosen, matching
from llmcalc.checks.measured.model_names import named
from llmcalc.checks.measured.models import model
from llmcalc.checks.measured.unusable import Unusable

MODELS = {
    "Meta-Llama-3.1-70B-Instruct": "llama3.1-70b",
    "meta-llama/Llama-3.3-70B-Instruct": "llama3.3-70b",
    "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic": "llama3.1-8b",
    "neuralmagic/Meta-Llama-3-70B-Instruct-quantized.w8a16": "llama3-70b",
    "hugging-quants/Meta-Llama-3.1-405B-Instruct-AWQ-INT4": "llama3.1-405b",
    "TheBloke/Llama-2-13B-chat-GPTQ": "llama2-13b",
    "llama-2-7b.Q4_K_M.gguf": "llama2-7b",
    "unsloth_Llama-3.2-3B-Instruct-bnb-4bit": "llama3.2-3b",
    "Meta_Llama_3.1_8b_it": "llama3.1-8b",
    "Qwen/Qwen3-30B-A3B-Instruct-2507-FP8": "qwen3-30b-a3b",
    "Qwen3-235B-A22B-Thinking-2507": "qwen3-235b-a22b",
    "Qwen3-8B (36L/8kv)": "qwen3-8b",
    "Qwen3.5-122B-A10B (+MTP)": "qwen3.5-122b-a10b",
    "Qwen2.5-VL-7B class": "qwen2.5-vl-7b",
    "Qwen2.5-Coder-14B-Instruct": "qwen2.5-14b",
    "qwen3 32B Q8_0 [Qwen3-32B-Q8_0]": "qwen3-32b",
    "qwen3moe 30B.A3B Q4_K - Medium [Qwen3-30B-A3B-UD-Q4_K_XL]": "qwen3-30b-a3b",
    "DeepSeek-R1-Distill-Qwen-14B": "qwen2.5-14b",
    "DeepSeek-R1-Distill-Llama-70B-FP8": "r1-distill-llama-70b",
    "deepseek-r1:14b": "qwen2.5-14b",
    "deepseek-r1:70b Q4_K_M": "r1-distill-llama-70b",
    "DeepSeek V3 0324": "deepseek-v3",
    "unsloth_DeepSeek R1 BF16": "deepseek-r1",
    "DeepSeek-V3/R1": "deepseek-v3",
    "DeepSeek-V2.5": "deepseek-v2",
    "DeepSeek-Coder-V2-Lite-Instruct": "deepseek-v2-lite",
    "gpt-oss-20b (12+12 layers)": "gpt-oss-20b",
    "openai/gpt-oss-120b": "gpt-oss-120b",
    "gpt-oss:20b MXFP4": "gpt-oss-20b",
    "google/gemma-3-27b-it-qat-q4_0-gguf": "gemma3-27b",
    "gemma-4-31b-it": "gemma4-31b",
    "Kimi-Linear-48B-A3B-Instruct": "kimi-linear-48b-a3b",
    "Mixtral-8x7B-Instruct-v0.1": "mixtral-8x7b",
    "opt-6.7b": "opt-6.7b",
    "Phi-4": "phi-4",
    "phi-4-Q4_K_M.gguf": "phi-4",
    "MiniMax-M2": "minimax-m2",
}
UNKNOWN = (
    "8B model",
    "(unstated in excerpt)",
    "70B class (80L/8kv)",
    "Qwen3 (RTX 3080 guide)",
    "1.5B class (28L/2kv)",
    "Llama-3.2-11B-Vision-Instruct",
    "GLM-5.3-Flash",
    "Qwen3.9-27B",
    "gemma-4-12B",
    "",
    "()",
    "/",
)


@pytest.mark.parametrize("text", MODELS)
def test_a_model_is_known_by_what_logs_call_it(text: str) -> None:
    assert [card.name for card in named(text)] == [MODELS[text]]


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_model_that_we_lack_is_no_other(text: str) -> None:
    assert named(text) == ()


def test_every_name_and_alias_of_the_catalog_means_its_card() -> None:
    for card in cards():
        for name in (card.name, *card.aliases):
            assert [found.name for found in named(name)] == [card.name], name


@pytest.mark.parametrize("ending", ["-Chat-2507", "-FP8", "-AWQ", "-GGUF", " Q4_K_M"])
def test_a_tuning_or_a_format_behind_a_name_changes_no_shape(ending: str) -> None:
    """Several cards may bear the name, as a text model and the whole one; they are among them."""
    for card in cards():
        assert card.name in [found.name for found in named(card.name + ending)], card.name


@pytest.mark.parametrize(
    ("text", "facts", "name"),
    [
        # Printed by llama.cpp for LLaMA-1 and 2 (shapes: arXiv:2302.13971, table 2).
        ("models 6.74 B", ("6.74 B", 32, 4096, 32000, 32), "llama-7b"),
        ("LLaMA v2 6.74 B", ("6.74 B", 32, 4096, 32000, 32), "llama2-7b"),
        ("models 32.53 B", ("32.53 B", 60, 6656, 32000, 52), "llama-30b"),
        ("LLaMA v2 68.98 B", ("68.98 B", 80, 8192, 32000, 8), "llama2-70b"),
        ("Models", ("235.094 B", 94, None, None, 4), "qwen3-235b-a22b"),
    ],
)
def test_a_model_is_known_by_its_shapes(
    text: str, facts: tuple[str, int, int | None, int | None, int], name: str
) -> None:
    params, layers, hidden, vocab, heads = facts
    said = Facts(params=params, layers=layers, hidden=hidden, vocab=vocab, kv_heads=heads)
    assert matching(said, text).name == name


def test_too_few_facts_or_none_that_agree_are_no_model() -> None:
    with pytest.raises(Unusable, match="not in the catalog"):
        matching(Facts(params="6.74 B", layers=32), "something")
    with pytest.raises(Unusable, match="no card has the shapes"):
        matching(Facts(params="6.74 B", layers=33, hidden=4096, vocab=32000), "something")


def test_cards_of_different_shapes_are_no_answer() -> None:
    pair = [card for card in cards() if card.name in {"llama2-7b", "llama2-13b"}]
    with pytest.raises(Unusable, match="can be llama2-13b, llama2-7b"):
        chosen(pair, "llama")


def test_facts_that_contradict_the_name_are_told() -> None:
    with pytest.raises(Unusable, match="layers 80, the card llama2-7b has 32"):
        model({"model": "llama-2-7b", "n_layer": "80"})


def test_a_model_that_was_inferred_is_circular() -> None:
    with pytest.raises(Unusable, match="inferred"):
        model({"model": "Llama-2-7B", "model_stated": "inferred"})
    assert model({"model": "Llama-2-7B", "model_stated": "stated"}).name == "llama2-7b"


GPUS = {
    "H100 80GB": "h100-sxm5-80gb",
    "NVIDIA H100-SXM-80GB": "h100-sxm5-80gb",
    "NVIDIA H100 PCIe": "h100-pcie-80gb",
    "H100_PCIe_4": "h100-pcie-80gb",
    "NVIDIA H100-NVL-94GB": "h100-nvl-94gb",
    "NVIDIA A100-SXM4-80GB": "a100-sxm4-80gb",
    "A100 40GB": "a100-sxm4-40gb",
    "A100 PCIe 40GB": "a100-pcie-40gb",
    "RTX 4090 24GB": "rtx-4090",
    "NVIDIA GeForce RTX 4090": "rtx-4090",
    "4090_2": "rtx-4090",
    "2x RTX 3090": "rtx-3090",
    "6000_Ada_4": "rtx-6000-ada",
    "RTX 5090 32GB class": "rtx-5090",
    "RTX PRO 6000 96GB": "rtx-pro-6000-blackwell-ws",
    "GB10 128GB": "dgx-spark-gb10",
    "M2ultra_192GB": "apple-m2-ultra",
    "M3max_48GB": "apple-m3-max",
    "RX 7900 XTX 24GB (ROCm)": "rx-7900-xtx",
    "AMD Instinct MI300X-NPS1-SPX-192GB-750W": "mi300x",
    "Tesla T4": "t4",
    "Strix Halo (Radeon 8060S)": "ryzen-ai-max-395",
    "Ryzen AI 9 HX 370 (Radeon 890M)": "radeon-890m",
    "RTX 3070": "rtx-3070",
    "RTX 3080Ti": "rtx-3080-ti",
    "RTX 2060 12GB": "rtx-2060-12gb",
    "RTX 4090 (Laptop)": "rtx-4090-laptop",
    "NVIDIA GeForce RTX 4090 Laptop GPU": "rtx-4090-laptop",
    "RTX 3080 Mobile 8GB": "rtx-3080-laptop",
    "GTX 1080 Ti": "gtx-1080-ti",
    "Quadro RTX 8000": "quadro-rtx-8000",
    "Titan X (Pascal)": "titan-x-pascal",
    "RTX PRO 5000 72GB": "rtx-pro-5000-72gb-blackwell",
    "RTX PRO 6000 Max-Q": "rtx-pro-6000-blackwell-max-q",
    "RTX 6000 Ada Generation": "rtx-6000-ada",
    "Tesla P40": "p40",
    "A800-80GB": "a800-sxm4-80gb",
    "A100-40GB-SXM": "a100-sxm4-40gb",
    "A100-40GB multi-node": "a100-sxm4-40gb",
    "A100-SXM-40GB in this page (paper: 80GB Selene)": "a100-sxm4-40gb",
    "H100/H800 (989.4 TF peak used on page)": "h100-sxm5-80gb",
    "Jetson AGX Orin 32GB": "jetson-agx-orin-32gb",
    "Radeon AI PRO R9700": "radeon-ai-pro-r9700",
    "Radeon Pro W7700": "radeon-pro-w7700",
    "AMD Radeon RX 6900 XT": "rx-6900-xt",
    "RX 7900 XT": "rx-7900-xt",
    "MI50 16GB": "mi50",
    "Arc Pro B50": "arc-pro-b50",
    "Apple M1 (7c GPU)": "apple-m1-7c",
    "Apple M1 Pro (16c GPU)": "apple-m1-pro",
    "Apple M3 Max (30-core GPU)": "apple-m3-max-30c",
    "MacBook Pro M4 Max": "apple-m4-max",
}


@pytest.mark.parametrize("text", GPUS)
def test_a_gpu_is_known_by_what_logs_call_it(text: str) -> None:
    found = gpu(text)
    assert found is not None
    assert found.name == GPUS[text]


@pytest.mark.parametrize(
    "text",
    [
        "80GB class", "AMD", "unstated", "RTX 6000", "RTX 4090 48GB", "8GB (8151 MiB)",
        "A800/H800-80GB (page ambiguous)", "unstated (~95.6 GiB each)", "22GB-class (21.66 GiB)",
        "Ascend 64GB", "H100-95GB HBM2e", "T4/Turing 16GB", "RTX 3080 Laptop 16GB",
    ],
)  # fmt: skip
def test_a_gpu_that_we_lack_is_no_other(text: str) -> None:
    assert gpu(text) is None


def test_a_card_with_more_memory_is_still_that_board() -> None:
    assert [getattr(board(text), "name", None) for text in ("RTX 4090 48GB", "RTX 6000")] == [
        "rtx-4090", None,
    ]  # fmt: skip


def test_every_name_of_a_gpu_means_it() -> None:
    for spec in gpus():
        for name in (spec.name, spec.title, *spec.aliases):
            found = gpu(name)
            assert found is not None, name
            assert found.name == spec.name, name


FILE_TYPES = {
    "Q4_K - Medium": "q4_k_m", "Q3_K - Large": "q3_k_l", "Q5_K - Small": "q5_k_s",
    "Q2_K - Medium": "q2_k", "mostly Q4_0": "q4_0", "F16": "f16", "BF16": "gguf-bf16",
    "Q8_0": "q8_0", "MXFP4 MoE": "mxfp4_moe",
    "IQ3_S - 3.4375 bpw": "iq3_s", "IQ3_S mix - 3.66 bpw": "iq3_m", "IQ4_XS - 4.25 bpw": "iq4_xs",
}  # fmt: skip


@pytest.mark.parametrize("text", FILE_TYPES)
def test_a_file_type_is_what_llama_cpp_prints(text: str) -> None:
    assert file_type(text) == FILE_TYPES[text]


@pytest.mark.parametrize("text", ["IQ3_K - 3.4325 bpw", "IQ4_KS_R4 - 4.25 bpw", "Q8_0_R8", None])
def test_file_types_of_a_fork_are_told(text: str | None) -> None:
    with pytest.raises(Unusable):
        file_type(text)


WEIGHTS = {
    "bf16": "bf16", "float16": "fp16", "awq-int4 (marlin)": "awq", "gptq-int4": "gptq",
    "w8a8-int8": "w8a8", "bnb-4bit": "nf4", "w4 (compressed-tensors)": "w4a16", "nvfp4": "nvfp4",
    "mxfp4": "mxfp4", "fp8": "fp8", "fp8-dynamic": "fp8-channel", "NVFP4 (modelopt)": "nvfp4",
}  # fmt: skip


@pytest.mark.parametrize("text", WEIGHTS)
def test_a_weight_format_is_what_logs_call_it(text: str) -> None:
    assert weight_format(text) == WEIGHTS[text]


def test_a_model_name_may_tell_the_format() -> None:
    assert weight_format(None, "Qwen3-32B-AWQ") == "awq"
    assert weight_format("", "Llama-3.1-8B-Instruct-FP8") == "fp8"
    with pytest.raises(Unusable, match="not stated"):
        weight_format(None, "Qwen3-32B")
    with pytest.raises(Unusable, match="exl3"):
        weight_format("exl3")


CACHES = {
    None: ("bf16", "bf16"),
    "auto": ("bf16", "bf16"),
    "fp8_e4m3": ("fp8", "fp8"),
    "f16": ("fp16", "fp16"),
    "K (q8_0), V (q4_0)": ("q8_0", "q4_0"),
    "K (f16), V (f16)": ("fp16", "fp16"),
    "c^KV (q8_0), kv^T: not used": ("q8_0", "q8_0"),
    "f16 c^KV+K^R": ("fp16", "fp16"),
}


@pytest.mark.parametrize("text", CACHES)
def test_a_cache_format_is_what_logs_call_it(text: str | None) -> None:
    assert kv_formats(text) == CACHES[text]


@pytest.mark.parametrize(
    ("version", "engine", "date", "runtime"),
    [
        ("0.6.4.dev", "V0", "2024-12-14", "vllm-v0"),
        (None, "V0", "2025-06-03", "vllm-v0"),
        ("0.6.4", None, None, "vllm-v0"),
        ("0.11.0", "V1", "2026-01", "vllm-v1"),
        (None, "V1", "2025-12-11", "vllm-v1"),
        (None, None, "2023-11-07", "vllm-v0"),
        ("0.21.x", "V1", "2026-05-14", "vllm-0.21"),
        ("0.8.5", "V1", None, "vllm-0.8"),
        ("0.32.0", None, None, "vllm"),
        (None, "V1", "2026-09-21", "vllm"),
        (None, "V1", None, "vllm-v1"),
    ],
)
def test_a_vllm_is_told_by_version_engine_and_date(
    version: str | None, engine: str | None, date: str | None, runtime: str
) -> None:
    assert engines.vllm(version, engine, date) == runtime


def test_other_engines_have_their_names() -> None:
    assert engines.engine("ik_llama.cpp", None) == ("llama.cpp-2025", "ik_llama.cpp")
    assert engines.engine("Ollama/llama.cpp", None) == ("llama.cpp", "llama.cpp")
    assert engines.engine("vLLM 0.6.4", "2024-12-27") == ("vllm-v0", "vllm-v0")
    assert engines.engine("vLLM", "2026-08") == ("vllm", "vllm")
    assert engines.engine("TensorRT-LLM 1.0 (PyTorch backend)", None)[0] == "tensorrt-llm"
    with pytest.raises(Unusable, match="TGI"):
        engines.engine("TGI", None)
