"""Ask the real vLLM on a CPU how many KV tokens and how much concurrency an architecture gets.

Run in an environment of its own that has vLLM (the extra `engines-vllm`): it prints one line of
JSON. Nothing is downloaded: the model is a config.json with random weights, and what does not
enter the cache (feed-forward sizes, vocabulary, experts) is shrunk in the files of configs/.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

CONFIGS = Path(__file__).parent / "configs"
_CAPACITY = re.compile(
    r"KV cache size: ([\d,]+) tokens, Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x"
)


def main() -> None:
    """Start the engine with the settings asked for and print what it says of its cache."""
    asked = _arguments()
    os.environ |= {
        "VLLM_CPU_KVCACHE_SPACE": str(asked.kv_gib), "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    }  # fmt: skip
    folder = Path(tempfile.mkdtemp())
    (folder / "config.json").write_text((CONFIGS / f"{asked.model}.json").read_text())
    answer: dict[str, Any] = vars(asked)
    log = folder / "log"
    stdout = _divert(log)
    try:
        answer |= _start(folder, asked)
    except Exception as error:  # noqa: BLE001  the engine's own refusal is an answer too
        answer["error"] = f"{type(error).__name__}: {error}"[:600]
    sys.stdout.flush()
    text = log.read_text(errors="replace")
    if found := _CAPACITY.search(text):
        answer |= {"kv_tokens": int(found[1].replace(",", "")), "max_concurrency_x": found[2]}
    if found := re.search(r"kv cache group sizes \(([^)]*)\)", text):
        answer["groups"] = found[1]
    shutil.rmtree(folder)
    os.write(stdout, (json.dumps(answer) + "\n").encode())
    os._exit(0)  # the engine's threads would outlive main


def _arguments() -> argparse.Namespace:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("model", help="the name of a file in configs/")
    ask.add_argument("--max-model-len", type=int, default=4096)
    ask.add_argument("--kv-gib", type=int, default=1)
    ask.add_argument("--kv-cache-dtype", default="auto")
    ask.add_argument("--block-size", type=int)
    ask.add_argument("--max-num-batched-tokens", type=int)
    ask.add_argument("--no-hybrid", action="store_true")
    ask.add_argument("--state-dtype", default="auto")
    ask.add_argument("--prefix-caching", action=argparse.BooleanOptionalAction, default=None)
    return ask.parse_args()


def _divert(log: Path) -> int:
    """Both streams into a file, at the descriptors; returns where answers go."""
    stdout = os.dup(1)
    sink = os.open(log, os.O_CREAT | os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    return stdout


def _start(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    import torch

    # Where a CPU has these instructions vLLM keeps recurrent states in float32 for its CPU kernels,
    # whatever was asked; a GPU does not. Without them the answer is a GPU's, on any CPU.
    torch.cpu._is_avx512_bf16_supported = lambda: False
    import vllm  # type: ignore[import-not-found]

    options: dict[str, Any] = {
        "block_size": asked.block_size, "max_num_batched_tokens": asked.max_num_batched_tokens,
        "enable_prefix_caching": asked.prefix_caching,
        "disable_hybrid_kv_cache_manager": asked.no_hybrid or None,
    }  # fmt: skip
    engine = vllm.LLM(
        model=str(folder), load_format="dummy", skip_tokenizer_init=True, enforce_eager=True,
        max_model_len=asked.max_model_len, dtype="bfloat16", max_num_seqs=4,
        kv_cache_dtype=asked.kv_cache_dtype, mamba_ssm_cache_dtype=asked.state_dtype,
        **{name: value for name, value in options.items() if value is not None},
    )  # fmt: skip
    config = engine.llm_engine.vllm_config
    return {
        "version": vllm.__version__,
        "resolved_block_size": config.cache_config.block_size,
        "num_gpu_blocks": config.cache_config.num_gpu_blocks,
        "resolved_batched_tokens": config.scheduler_config.max_num_batched_tokens,
        "in_flight_tokens": config.max_in_flight_tokens,
        "resolved_state_dtype": config.cache_config.mamba_ssm_cache_dtype,
        "state_mode": config.cache_config.mamba_cache_mode,
        "layers": _layers(engine),
    }


def _layers(engine: Any) -> str:
    """`12 FullAttention x 128 tokens in 262144 bytes; ...`, a group each."""
    core = engine.llm_engine.engine_core.engine_core
    return "; ".join(
        f"{len(group.layer_names)} {type(group.kv_cache_spec).__name__.removesuffix('Spec')}"
        f" x {group.kv_cache_spec.block_size} tokens in {group.kv_cache_spec.page_size_bytes} bytes"
        for group in core.scheduler.kv_cache_config.kv_cache_groups
    )


if __name__ == "__main__":
    main()
