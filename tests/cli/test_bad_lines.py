"""Command lines that cannot be answered: one clear line, one hint, the right exit code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

BAD = [
    ("parms llama2-7b", 2, "no such command 'parms'", "did you mean llmcalc params?"),
    ("params", 2, "missing argument 'MODEL...'", "--help"),
    ("params lama2-7b", 3, "no model named lama2-7b", "did you mean llama2-7b?"),
    ("params nowhere.yaml", 3, "no file at nowhere.yaml", "check the path"),
    ("params nowhere/model.gguf", 3, "no file at nowhere/model.gguf", "check the path"),
    ("params no-such/model-at-all-zzz", 3, "no model named no-such/", "config.json"),
    ("fit", 2, "missing option '--gpu'", "llmcalc fit --help"),
    ("fit --gpu a100-8O", 3, "no GPU named a100-8O", "did you mean a100-80?"),
    ("fit --gpu a100-80 --batch 0", 5, "--batch 0 is not possible", "at least 1"),
    ("fit --gpu a100-80 --batch -3", 5, "--batch -3 is not possible", "at least 1"),
    ("fit --gpu a100-80 --batch abc", 2, "'abc' is not a count", "write it as"),
    ("fit --gpu a100-80 --batch 1e30", 2, "'1e30' is too large", "write it as"),
    ("fit --gpu a100-80 --seq 0", 5, "--seq 0 is not possible", "at least 1"),
    ("fit --gpu a100-80 --seq 1.5", 2, "'1.5' is not a whole number", "4k (4,096)"),
    ("fit --gpu a100-80 --weights int3", 2, "no weight format named 'int3'", "int8"),
    ("fit --gpu a100-80 --kv q8", 2, "--kv q8 is no cache format", "fp8"),
    ("fit --gpu a100-80 --runtime vlm", 2, "no runtime named 'vlm'", "did you mean vllm?"),
    ("fit --gpu l4 --runtime vllm --gpu-memory-utilization 5", 5, "--gpu-memory", "up to 1"),
    ("fit --gpu l4 --name gpt2 --block-size 16", 2, "generic has no --block-size", "settings"),
    ("fit --gpu a100-80 --gpus 0", 5, "--gpus 0 is not possible", "at least 1"),
    ("fit --gpu a100-80 --bach 3", 2, "no such option --bach", "did you mean --batch?"),
    ("fit --gpu a100-80 --json --csv", 2, "--json and --csv exclude each other", "one form"),
    ("fit --gpu a100-80 --units kb", 2, "invalid value for '--units'", "--help"),
    ("fit --gpu a100-80 --min-params -1", 5, "--min-params -1 is not possible", "at least 0"),
    ("fit llama2-7b --gpu a100-80 --tp 3", 5, "--tp 3 does not divide", "2 or 4"),
    ("memory gpt2 --seq 4096", 5, "--seq 4,096 is over the 1,024 tokens", "--force"),
    ("memory llama2-7b --gpu l4 --gpu-memory-utilization 1.5", 5, "--gpu-memory-util", "up to 1"),
    ("memory llama2-7b --gpu l4 --gpu-memory-utilization 0", 5, "--gpu-memory-util", "above 0"),
    ("memory llama2-7b --gpu l4 --gpu-memory-utilization nan", 5, "--gpu-memory-util", "share"),
    ("memory llama2-7b --kv-cache-memory-bytes 4X", 2, "'4X' is not a size", "80GiB"),
    ("memory llama2-7b --kv-cache-memory-bytes 0", 5, "--kv-cache-memory-bytes 0", "at least"),
    ("memory llama2-7b --max-model-len 1M", 5, "--max-model-len 1,048,576 is over", "--force"),
    ("memory llama2-7b --tp 64", 5, "--tp 64 does not divide", "32"),
    ("memory llama2-7b --pp 33", 5, "--pp 33 does not divide", "32"),
    ("memory mixtral-8x7b --tp 2 --ep 3", 5, "--ep 3 does not divide", "near it: 2"),
    ("memory llama2-7b --tp 2 --gpus 3", 5, "tp 2 is 2 GPUs, not --gpus 3", "leave --gpus"),
    ("flops llama2-7b --phase decod", 2, "invalid value for '--phase'", "--help"),
    ("flops llama2-7b --context 100 --seq 200", 5, "--context 100 is less", "new tokens"),
    ("flops llama2-7b --phase train --context 4096 --seq 1", 5, "--context does not go", "fed"),
    ("flops llama2-7b --seq 1T", 2, "'1T' is not a number of tokens", "4k (4,096)"),
    ("flops llama2-7b --seq 8k", 5, "--seq 8,192 is over the 4,096 tokens", "--seq 4096"),
    ("train llama2-7b --shard zero9", 2, "invalid value for '--shard'", "--help"),
    ("train llama2-7b --precision bf61", 2, "no precision recipe named", "bf16-mixed"),
    ("train llama2-7b --gpu h100 --gpus 0", 5, "--gpus 0 is not possible", "at least 1"),
    ("train llama3-8b --seq 8193", 5, "--seq 8,193 is over the 8,192 tokens", "--force"),
    ("train llama3-8b --global-batch 0", 5, "--global-batch 0 is not possible", "at least 1"),
    ("train llama3-8b --method lora --rank 0", 5, "--rank 0 is not possible", "at least 1"),
    ("train mixtral-8x7b --imbalance nan", 5, "--imbalance nan is not possible", "above 1"),
    ("train mixtral-8x7b --imbalance inf", 5, "--imbalance inf is not possible", "above 1"),
    ("train mixtral-8x7b --imbalance 0.1", 5, "--imbalance 0.1 is not possible", "above 1"),
    ("train mixtral-8x7b --imbalance -1", 5, "--imbalance -1 is not possible", "above 1"),
    ("train llama3-8b --weights nf4", 2, "--weights is how frozen weights", "--method lora"),
    ("train llama3-8b --method qlora --weights bf16", 2, "qlora quantises", "--method lora"),
    ("train llama3-8b --method qlora --weights q4_k_m", 2, "no library trains adapters", "nf4"),
    ("train llama3-8b --offload --offload-only optimizer", 2, "--offload and", "give one"),
    ("train llama3-8b --pp 2 --vpp 4 --schedule gpipe", 2, "--vpp cuts stages for", "--schedule"),
    ("train llama3-8b --pp 2 --vpp 17", 5, "--vpp 17 cuts stages of 16 layers", "at most 16"),
    ("train llama3-8b --gpu h100 --tokens 0", 5, "--tokens 0 is not possible", "above 0"),
    ("train llama3-8b --gpu h100 --mfu 1.5", 5, "--mfu 1.5 is no share", "0.4"),
    ("train llama3-8b --gpu h100 --price nan", 5, "--price nan is not possible", "0 or more"),
    ("train llama3-8b --gpu h100 --tokens 1B --checkpoint 0", 5, "--checkpoint 0 is", "above 0"),
    ("train llama3-8b --gpu a100 --precision fp8", 5, "a100-sxm4-80gb does not", "h100"),
    ("rlhf qwen3-8b --algo dpo --rollout-batch 4", 2, "dpo makes no sequences", "--rollout-batch"),
    ("rlhf qwen3-8b --algo dpo --gpu a100 --precision fp8", 5, "a100-sxm4-80gb does not", "h100"),
    ("fit gpt2 --gpu a100 -s 512 --train full --precision fp8", 5, "a100-sxm4-80gb does", "h100"),
    ("rlhf qwen3-8b --algo grpo -n 8 --group 3", 5, "--group 3 does not", "--global-batch 24"),
    ("rlhf qwen3-8b --algo dpo --no-sleep", 2, "dpo makes no sequences", "--no-sleep"),
    ("models --min-params x", 2, "'x' is not a count", "write it as"),
    ("gpus --min-memory 80XB", 2, "'80XB' is not a size", "80GB"),
    ("schema fitt", 2, "no schema 'fitt'", "did you mean fit?"),
]


@pytest.mark.parametrize(("line", "code", "message", "hint"), BAD, ids=[line for line, *_ in BAD])
def test_a_line_that_cannot_be_answered(
    line: str, code: int, message: str, hint: str, llmcalc: Callable[..., Any]
) -> None:
    run = llmcalc(*line.split())
    error, advice = run.err.splitlines()
    assert (run.code, run.out) == (code, "")
    assert error.startswith(f"error: {message}")
    assert advice.startswith("hint: ")
    assert hint in advice
