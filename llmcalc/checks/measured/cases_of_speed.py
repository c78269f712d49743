"""What a measurement of decode or prefill speed configured: model, devices, and what was timed."""

from __future__ import annotations

import re
from dataclasses import replace

from llmcalc.checks.measured import engines
from llmcalc.checks.measured.asked import Missing, split, weights
from llmcalc.checks.measured.bench_names import benched, file_type_of
from llmcalc.checks.measured.case import Case, Run
from llmcalc.checks.measured.cells import number, text, whole
from llmcalc.checks.measured.formats import file_type
from llmcalc.checks.measured.gpu_names import board
from llmcalc.checks.measured.reading import Cells
from llmcalc.checks.measured.runs import flash, run
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.spec.gpu import GpuSpec
from llmcalc.spec.settings import Settings

_FLASH_BY_ITSELF = "2025-09"
"""Month since which llama.cpp turns it on where it can:
https://github.com/ggml-org/llama.cpp/pull/15434."""
_OTHER_ENGINES = {
    "deepspeed": "transformers", "autoawq": "transformers", "ctranslate2": "transformers",
    "exllamav2": "transformers", "optimum-nvidia": "transformers", "mlperf": "tensorrt-llm",
}  # fmt: skip
"""Engines without a runtime file of ours, and the one whose way of running is nearest."""
_SLOW_HOST = re.compile(r"pcie x1\b|\bpi\)", re.IGNORECASE)


def speed(config: Cells) -> Case:
    """The case of one timed run. Raises Unusable where it says too little."""
    card = benched(config)
    runtime, _ = engine_of(config)
    missing: Missing = {}
    tp, pp = split(config)
    timed = run(config)
    serial = runtime.startswith("llama.cpp") and not _ranks_named(config)
    if serial:
        timed = replace(timed, layer_split=_devices(config))
        tp = pp = 1
    gpu, timed = _device(config, timed, missing)
    stored = _weights(config, runtime, missing)
    cache = _cache(runtime, stored)
    return Case(
        card=card,
        runtime=runtime,
        weights=stored,
        keys=cache,
        values=cache,
        gpu=gpu,
        tp=tp,
        pp=pp,
        settings=Settings(
            flash_attn=_flash(config) if runtime.startswith("llama.cpp") else None,
            parallel=1 if runtime.startswith("llama.cpp") else None,
        ),
        seq=max(1, timed.depth + timed.prompt + timed.output),
        run=timed,
        missing=missing,
    )


def group_of(config: Cells, notes: str = "") -> str:
    """Engine, kind of model and way over the GPUs that a row is counted under."""
    runtime, engine = engine_of(config)
    if _SLOW_HOST.search(notes):
        return f"{engine}, GPU behind one PCIe lane"
    try:
        kind = "MoE" if benched(config).has_experts else "dense"
    except Unusable:
        return f"{engine}, model unknown"
    return f"{engine}, {kind}, {_spread(config, runtime)}"


def engine_of(config: Cells) -> tuple[str, str]:
    """Runtime file and name of the engine."""
    written = (text(config, "engine") or "").lower()
    for start, runtime in _OTHER_ENGINES.items():
        if written.startswith(start):
            return runtime, start
    runtime, group = engines.engine(text(config, "engine"), text(config, "date"))
    return runtime, "llama.cpp" if runtime.startswith("llama.cpp") else group


def _spread(config: Cells, runtime: str) -> str:
    count = _devices(config)
    if count == 1:
        return "one GPU"
    if runtime.startswith("llama.cpp") and not _ranks_named(config):
        return "layers over GPUs"
    return "pipeline ranks" if split(config)[1] > 1 else "tensor ranks"


def _ranks_named(config: Cells) -> bool:
    """Whether ranks are named: llama.cpp itself splits by layers, one GPU after the other."""
    return re.search(r"\b(TP|PP)\s*=?\s*\d", config.get("parallelism", "").upper()) is not None


def _devices(config: Cells) -> int:
    if config.get("n_gpu", "1") in {"0", "N/A"}:
        raise Unusable("no GPU ran it")
    tp, pp = split(config)
    return whole(config, "n_gpu") or tp * pp


def _device(config: Cells, timed: Run, missing: Missing) -> tuple[GpuSpec | None, Run]:
    """The GPU, or the bandwidth that the row states for one that the catalog lacks."""
    name, stated = text(config, "gpu"), number(config, "stated_bw_gbs")
    found = board(name)
    if found is not None:
        if not found.memory.bandwidth_gb_s and not stated:
            missing["speed"] = f"the bandwidth of {found.name} is not known"
        return found, timed
    if stated:
        return None, replace(timed, bandwidth_gb_s=stated)
    missing["speed"] = f"GPU {name!r} is not in the catalog" if name else "the GPU is not named"
    return None, timed


def _weights(config: Cells, runtime: str, missing: Missing) -> str:
    """The weight format, or 16 bits and a note that it is not known."""
    if not runtime.startswith("llama.cpp"):
        told: Missing = {}
        found = weights(config, "quant", told)
        if told:
            missing["speed"] = told["weights"]
        return found
    try:
        return file_type(file_type_of(config))
    except Unusable as why:
        missing["speed"] = str(why)
        return "f16"


def _cache(runtime: str, weights: str) -> str:
    """The format of the cache; NVIDIA's quantised checkpoints ask for fp8 (hf_quant_config)."""
    if runtime.startswith("llama.cpp"):
        return "fp16"
    narrow = runtime == "tensorrt-llm" and weights.startswith(("fp8", "nvfp4", "fp4"))
    return "fp8" if narrow else "bf16"


def _flash(config: Cells) -> bool | None:
    """Whether flash attention is on; before it was the default, silence meant off."""
    said = flash(config)
    return False if said is None and (text(config, "date") or "") < _FLASH_BY_ITSELF else said
