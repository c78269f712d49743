"""Ask the real llama.cpp what a model would need: its dry run logs buffers and reads no data."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from llmcalc.spec.card import ModelCard
from tests.oracles.llamacpp.sparse import write

LOAD = """
import json, sys, xllamacpp as x
a = json.loads(sys.argv[2])
p = x.CommonParams()
p.model.path, p.warmup, p.verbosity = sys.argv[1], False, 5
for name in ("n_ctx", "n_parallel", "n_batch", "n_ubatch"):
    setattr(p, name, a[name])
p.kv_unified = bool(a["kv_unified"])
p.embedding = bool(a["embedding"])
p.cache_type_k = getattr(x.ggml_type, "GGML_TYPE_" + a["cache_type_k"].upper())
p.cache_type_v = getattr(x.ggml_type, "GGML_TYPE_" + a["cache_type_v"].upper())
kind = "ENABLED" if a["flash_attn"] else "DISABLED"
p.flash_attn_type = getattr(x.llama_flash_attn_type, "LLAMA_FLASH_ATTN_TYPE_" + kind)
x.Server(p)
"""
LAST_WORDS = ("compute buffer size", "failed to create llama_context", "error loading model")
"""What the log says when the answer is in it, or when there will be none."""
POOL = re.compile(
    r"llama_kv_cache: size =\s*([\d.]+) MiB \(\s*(\d+) cells,\s*(\d+) layers,\s*(\d+)/(\d+) seqs\)"
    r", K \((\w+)\):\s*([\d.]+) MiB, V \((\w+)\):\s*([\d.]+) MiB"
)
PATIENCE = 20.0
"""Seconds until an engine that says nothing is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The settings of one start of the engine, under its own names."""

    n_ctx: int = 4096
    n_batch: int = 2048
    n_ubatch: int = 512
    n_parallel: int = 1
    kv_unified: int = 0
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
    flash_attn: int = 1
    embedding: int = 0


def ask(card: ModelCard, arch: str, question: Question, *, kind: str = "F16") -> str:
    """The log of the engine's dry run for a sparse file of this card."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.gguf")
        write(path, card, arch, kind)
        return dry_run(path, question)


def dry_run(path: str, question: Question) -> str:
    """The log of one start; the engine is stopped before it allocates for real."""
    with tempfile.TemporaryFile() as sink:
        child = subprocess.Popen(
            [sys.executable, "-c", LOAD, path, json.dumps(asdict(question))],
            stdout=sink, stderr=sink,
        )  # fmt: skip
        try:
            return _watched(child, sink)
        finally:
            child.kill()
            child.wait()


def _watched(child: subprocess.Popen[bytes], sink: object) -> str:
    text = ""
    for _ in range(int(PATIENCE / 0.02)):
        time.sleep(0.02)
        ended = child.poll() is not None
        sink.seek(0)  # type: ignore[attr-defined]
        text = sink.read().decode(errors="replace")  # type: ignore[attr-defined]
        if ended or any(one in text for one in LAST_WORDS):
            break
    return text


def answers(text: str) -> dict[str, str]:
    """What the log says, under the columns of `llmcalc/measurements/llamacpp_live.tsv`."""
    pools = POOL.findall(text)
    state = re.findall(r"llama_memory_recurrent: size =\s*([\d.]+) MiB", text)
    return {
        "params": _first(r"model params\s+= ([\d.]+ \w+)", text),
        "model_size": _first(r"file size\s+= ([\d.]+ \w+)", text),
        "kv_pools": ";".join(f"{cells}x{layers}x{streams}:{k}:{v}"
                             for _, cells, layers, _, streams, _, k, _, v in pools),
        "kv_self_mib": f"{sum(float(one[0]) for one in pools):.2f}" if pools else "",
        "state_mib": state[0] if state else "",
        "compute_buf_mib": _first(r"compute buffer size =\s*([\d.]+) MiB", text),
        "output_buf_mib": _first(r"output buffer size =\s*([\d.]+) MiB", text),
    }  # fmt: skip


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else ""
