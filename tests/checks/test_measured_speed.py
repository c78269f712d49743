"""Rows of decode and prefill speed: which case they are, and what they cannot be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from llmcalc.checks.measured.bench_names import benched, file_type_of
from llmcalc.checks.measured.case import Case, Prediction
from llmcalc.checks.measured.cases import case, group
from llmcalc.checks.measured.reading import Row, read, shipped
from llmcalc.checks.measured.score import scored

FILE = next(path for path in shipped() if Path(path).stem == "decode")
BENCH = {
    "engine": "llama.cpp", "backend": "CUDA", "model": "llama 8B Q4_K - Medium",
    "params_b": "8.03 B", "gpu": "RTX 3070", "n_gpu": "1", "batch": "1", "test": "tg512",
    "metric": "decode_tok_s", "date": "2024-05",
}  # fmt: skip
SERVER = {
    "engine": "TensorRT-LLM", "model": "Llama-3.1-405B", "quant": "fp8", "gpu": "H200",
    "n_gpu": "8", "parallelism": "TP8", "batch": "1", "isl": "1000", "osl": "1000",
    "test": "1000/1000", "metric": "decode_tok_s",
}  # fmt: skip


def _case(base: dict[str, str], **config: str) -> Case:
    return case("decode", {name: cell for name, cell in (base | config).items() if cell})


MODELS = {
    ("llama 8B Q4_K - Medium", "8.03 B"): ("llama3-8b", "q4_k_m"),
    ("llama 70B F16", "70.55 B"): ("llama3-70b", "f16"),
    ("llama 70B Q4_0", "68.98 B"): ("llama2-70b", "q4_0"),
    ("llama 7B Q4_0", "6.74 B"): ("llama-7b", "q4_0"),
    ("llama 7B Q4_K - Medium", "7.24 B"): ("mistral-7b-v0.2", "q4_k_m"),
    ("llama 1B Q4_K_M (TinyLlama)", ""): ("tinyllama-1.1b", "q4_k_m"),
    ("llama 7B Q4_0 [llama-2-7b.Q4_0]", "6.74 B"): ("llama2-7b", "q4_0"),
    ("deepseek-r1:14b Q4_K_M", ""): ("qwen2.5-14b", "q4_k_m"),
    ("gpt-oss:20b MXFP4", ""): ("gpt-oss-20b", "mxfp4_moe"),
    ("gpt-oss 120B MXFP4 MoE [gpt-oss-120b-mxfp4-00001-of-00003]", "116.83 B"):
        ("gpt-oss-120b", "mxfp4_moe"),
    ("nemotron_h_moe 120B.A12B Q4_K - Medium [NVIDIA-Nemotron-3-Super-120B-A12B-UD-Q4_K_XL-00001",
     "120.67 B"): ("nemotron-3-super-120b-a12b", "q4_k_m"),
    ("minimax-m2 230B.A10B Q3_K - Small [MiniMax-M2.7-UD-Q3_K_S-00001-of-00003]", "228.69 B"):
        ("minimax-m2", "q3_k_s"),
    ("mistral3 14B BF16 [Ministral-3-14B-Instruct-2512-BF16]", "13.51 B"):
        ("ministral3-14b-text", "gguf-bf16"),
    ("gemma4 26B.A4B Q8_0 [gemma-4-26B-A4B-it-UD-Q8_K_XL]", "25.23 B"):
        ("gemma4-26b-a4b", "q8_0"),
    ("dots1 142B Q4_K - Medium [dots.llm1.inst-UD-Q4_K_XL]", "142.77 B"):
        ("dots1-142b", "q4_k_m"),
    ("qwen3 32B Q8_0 [Qwen3-32B-Q8_0]", "32.76 B"): ("qwen3-32b", "q8_0"),
}  # fmt: skip


@pytest.mark.parametrize("printed", MODELS)
def test_a_model_is_what_llama_bench_and_ollama_print(printed: tuple[str, str]) -> None:
    name, params = printed
    found = _case(BENCH, model=name, params_b=params)
    assert (found.card.name, found.weights) == MODELS[printed]
    assert not found.missing


@pytest.mark.parametrize(
    ("name", "meant"),
    [("llama2-70b-99", "llama2-70b"), ("llama2-70b-99.9", "llama2-70b"), ("gptj-99", "gpt-j-6b"),
     ("mixtral-8x7b", "mixtral-8x7b")],
)  # fmt: skip
def test_mlperf_names_end_on_the_accuracy_to_be_kept(name: str, meant: str) -> None:
    assert benched({"model": name}).name == meant


def test_formats_of_other_benchmarks_are_those_of_a_gguf_for_llama_cpp() -> None:
    assert file_type_of({"quant": "int8", "model": "Mistral-7B"}) == "Q8_0"
    assert _case(
        BENCH, model="Mistral-7B-Instruct-v0.1", params_b="7.242", quant="int4"
    ).weights == ("q4_k_m")


def test_llama_cpp_on_several_gpus_runs_one_after_the_other() -> None:
    found = _case(BENCH, n_gpu="4", parallelism="layer split (serial)")
    assert found.run is not None
    assert (found.run.layer_split, found.tp, found.pp) == (4, 1, 1)
    assert _case(BENCH).run == replace(found.run, layer_split=1)


@pytest.mark.parametrize(
    ("parallelism", "tp", "pp"), [("TP8", 8, 1), ("PP8", 1, 8), ("TP4 PP2", 4, 2), ("", 8, 1)]
)
def test_ranks_share_a_model_as_the_row_says(parallelism: str, tp: int, pp: int) -> None:
    found = _case(SERVER, parallelism=parallelism)
    assert found.run is not None
    assert (found.tp, found.pp, found.run.layer_split) == (tp, pp, 1)


def test_flash_attention_was_off_before_it_was_the_default() -> None:
    assert _case(BENCH).settings.flash_attn is False
    assert _case(BENCH, date="2026-02").settings.flash_attn is None
    assert _case(BENCH, backend="Vulkan fa=True").settings.flash_attn is True


def test_a_stated_bandwidth_serves_only_where_the_catalog_has_no_such_gpu() -> None:
    known = _case(BENCH, stated_bw_gbs="300")
    assert known.gpu is not None
    assert known.run is not None
    assert known.run.bandwidth_gb_s is None
    unknown = _case(BENCH, gpu="Frobnicator 9", stated_bw_gbs="300")
    assert unknown.run is not None
    assert (unknown.gpu, unknown.run.bandwidth_gb_s, unknown.missing) == (None, 300, {})
    assert "Frobnicator" in _case(BENCH, gpu="Frobnicator 9").missing["speed"]
    assert _case(BENCH, gpu="").missing["speed"] == "the GPU is not named"


def test_a_card_with_more_memory_soldered_on_reads_as_fast() -> None:
    found = _case(BENCH, gpu="RTX 2080 Ti 22GB")
    assert found.gpu is not None
    assert found.gpu.name == "rtx-2080-ti"


GROUPS = {
    "llama.cpp, dense, one GPU": {},
    "llama.cpp, dense, layers over GPUs": {"n_gpu": "2", "parallelism": "layer split (serial)"},
    "llama.cpp, MoE, one GPU": {"model": "gpt-oss:20b MXFP4", "params_b": ""},
    "llama.cpp, model unknown": {"model": "frob 8B Q4_0", "params_b": ""},
}  # fmt: skip


@pytest.mark.parametrize("name", GROUPS)
def test_rows_are_counted_by_engine_kind_and_spread(name: str) -> None:
    assert group("decode", BENCH | GROUPS[name]) == name


def test_engines_ranks_and_slow_hosts_are_counted_apart() -> None:
    assert group("decode", SERVER) == "tensorrt-llm, dense, tensor ranks"
    assert group("decode", SERVER | {"parallelism": "PP8"}) == "tensorrt-llm, dense, pipeline ranks"
    assert group("decode", SERVER | {"engine": "ExLlamaV2", "n_gpu": "1", "parallelism": ""}) == (
        "exllamav2, dense, one GPU"
    )
    slow = group("decode", BENCH | {"engine": "Ollama/llama.cpp"}, "PCIe x1 host (Pi)")
    assert slow == "llama.cpp, GPU behind one PCIe lane"


def _row(measured: dict[str, str], notes: str = "", **config: str) -> Row:
    return replace(read(FILE)[0], id="x", config=BENCH | config, measured=measured, notes=notes)


HERE = Prediction(
    weights=1, kv_cache=1, activations=1, kv_bytes_per_token=1, stored=1, kv_room=None,
    kv_tokens=None, max_concurrency=None, fits=None, capacity=None,
    decode_tokens_per_second=80.0, prefill_tokens_per_second=3000.0,
)  # fmt: skip


def test_each_metric_is_scored_against_its_own_rate() -> None:
    rows = [_row({"value": "100"}), _row({"value": "2500"}, metric="prefill_tok_s", test="pp512")]
    one, two = scored(rows, lambda _: HERE)
    assert (one.metric, one.error) == ("decode_tok_s", pytest.approx(-0.2))
    assert (two.metric, two.error) == ("prefill_tok_s", pytest.approx(0.2))


def test_a_rate_that_its_notes_call_impossible_is_listed_and_not_scored() -> None:
    notes = "FLAG exceeds bandwidth bound at batch 1: not a valid decode rate"
    (found,) = scored([_row({"value": "390.49"}, notes)], lambda _: HERE)
    assert found.error is None
    assert found.skipped_because == f"doubted in its notes: {notes}"


def test_what_was_measured_or_derived_is_no_configuration() -> None:
    row = read(FILE)[0]
    derived = {"weights_gib", "peak_bw_gbs", "mbu_est", "mean_tpot_ms", "value", "stdev"}
    assert not derived & row.kind.config


def test_all_but_one_of_the_shipped_rows_of_decode_and_prefill_are_cases() -> None:
    """The one left names a GPU by its memory alone, which three GPUs have."""
    left = []
    for row in read(FILE):
        if row.config["metric"] in {"decode_tok_s", "prefill_tok_s"}:
            found = case("decode", row.config)
            left += [found.missing["speed"]] if found.missing else []
    assert left == ["GPU 'unstated (~95.6 GiB each)' is not in the catalog"]
