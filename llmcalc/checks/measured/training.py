"""What a row of a training run configured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from llmcalc.checks.measured import training_words as words
from llmcalc.checks.measured.case import Aspect
from llmcalc.checks.measured.cells import text, whole
from llmcalc.checks.measured.gpu_names import gpu
from llmcalc.checks.measured.reading import Cells
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.engines.training import Sharding
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec

_METHODS = {
    "pretrain": "full", "full": "full", "sft/full": "full", "lora": "lora", "qlora": "qlora",
    "lora+emb": "lora", "lora multinode": "lora", "lora zero3": "lora", "sft/lora": "lora",
}  # fmt: skip
_BITS = {
    "bnb.nf4": "nf4-single", "bnb nf4": "nf4-single", "bnb.nf4-dq": "nf4", "nf4": "nf4",
    "4bit": "nf4", "bnb 4": "nf4", "gptq-int4": "gptq", "8bit": "int8",
}  # fmt: skip
"""Double quantisation is the default of QLoRA; `-dq` is how litgpt writes it."""
_OFFLOAD = {"param cpu": "parameters", "optimizer_cpu_offload": "optimizer", "fsdp offload": "all"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCase:
    """One configuration of a training run; everything by the names that `train` takes."""

    card: ModelCard
    framework: str
    recipe: str | None
    optimizer: str
    method: str
    weights: str
    rank: int | None
    targets: frozenset[str]
    trained: frozenset[str]
    sharding: Sharding
    offload: str
    gpu: GpuSpec | None
    gpus: int
    tp: int
    pp: int
    vpp: int
    cp: int
    ep: int
    micro_batch: int
    global_batch: int | None
    seq: int
    recompute: str
    one_in: int
    flash: bool
    memory: words.Memory | None
    """What the measured number counts; None where only the outcome is asked for."""
    missing: Mapping[Aspect, str]
    ranks_stated: bool = True


def training(config: Cells) -> TrainingCase:
    """The case of one run. Raises Unusable where it says too little."""
    method = _method(config)
    missing: dict[Aspect, str] = {}
    framework = words.framework(config)
    memory = None
    if text(config, "mem_kind"):
        try:
            memory = words.memory_kind(config)
        except Unusable as why:
            missing["room"] = str(why)
    if re.match("ms-swift/", text(config, "framework") or ""):
        missing["room"] = "a length cap and whole GiB: a bound, no measurement"
    shard = words.shard(config)
    gpus = whole(config, "gpus") or 1
    if not shard.stated:
        missing["room"] = missing["devices"] = "the configuration of ZeRO is not stated"
    if method != "full" and framework.startswith("litgpt") and not text(config, "lora_rank"):
        missing["room"] = "rank and targets are not stated"
    quant = text(config, "quant")
    return TrainingCase(
        card=words.card(config), framework=framework,
        recipe=words.recipe(config, "") or None,
        optimizer=words.optimizer(config),
        method="qlora" if quant and method == "lora" else method,
        weights=_bits(quant, method), rank=whole(config, "lora_rank"),
        targets=words.targets(config),
        trained=frozenset({"embedding", "head"} if "emb" in (config.get("task") or "") else ()),
        sharding=_sharding(shard.sharding, framework, method, gpus), offload=_offload(config),
        gpu=gpu(text(config, "gpu")), gpus=gpus,
        tp=whole(config, "tp") or 1, pp=whole(config, "pp") or 1, vpp=whole(config, "vpp") or 1,
        cp=whole(config, "cp") or 1, ep=whole(config, "ep") or 1,
        micro_batch=_told(config, "mbs"), global_batch=_gbs(config), seq=_told(config, "seq"),
        recompute=_recompute(config), one_in=_one_in(config), flash=not _plain_attention(config),
        memory=memory, missing=missing,
    )  # fmt: skip


def group(config: Cells) -> str:
    """Framework, method and what the memory counts: kinds of numbers are never mixed."""
    said = (text(config, "framework") or "training").lower()
    task = (text(config, "task") or "").removeprefix("sft/")
    try:
        kind = ", " + words.memory_kind(config) if text(config, "mem_kind") else ""
    except Unusable:
        kind = ", unknown memory"
    name = re.sub(r"\s*(\(|\b[0-9a-f]{7,}\b).*", "", said)
    if (text(config, "task") or "") not in _METHODS:
        return f"{name}, other tasks"
    shape = ""
    if name.startswith("megatron") and task == "pretrain":
        shape = " experts" if text(config, "ep") else " dense"
    return f"{name}, {task}{shape}{kind}"


def _sharding(said: Sharding, framework: str, method: str, gpus: int) -> Sharding:
    """What a row says; LitGPT shards over several GPUs without being asked (finetune/full.py)."""
    alone = gpus == 1 or not framework.startswith("litgpt") or method != "full"
    return said if alone else "fsdp"


def _method(config: Cells) -> str:
    said = text(config, "task") or ""
    if said not in _METHODS:
        raise Unusable(f"task {said!r} is not one that is predicted")
    return _METHODS[said]


def _told(config: Cells, column: str) -> int:
    """A count that a prediction cannot do without."""
    said = text(config, column)
    if said is None:
        raise Unusable(f"{column} is not stated")
    return whole(config, column) or 1


def _gbs(config: Cells) -> int | None:
    try:
        return whole(config, "gbs")
    except Unusable:
        return None


def _bits(quant: str | None, method: str) -> str:
    if quant is None or method == "full":
        return "bf16"
    if quant not in _BITS:
        raise Unusable(f"quantisation {quant!r} is not one of ours")
    return _BITS[quant]


def _offload(config: Cells) -> str:
    said = text(config, "offload")
    if said is None:
        return "none"
    if said not in _OFFLOAD:
        raise Unusable(f"what is offloaded is not stated: {said}")
    return _OFFLOAD[said]


def _recompute(config: Cells) -> str:
    said = config.get("recompute", "").lower()  # `none` is an answer here
    if said.startswith(("full", "fsdp recipe")):
        return "full"
    if said.startswith("selective op"):
        raise Unusable("which operations are computed again is not told")
    if said.startswith("selective layer"):
        return "full"
    if said.startswith("selective"):
        return "selective"
    if said.startswith("none"):
        return "none"
    raise Unusable("whether activations are computed again is not stated")


def _one_in(config: Cells) -> int:
    """Every second layer is what torchtitan's selective recomputation of layers takes."""
    return 2 if config.get("recompute", "").lower().startswith("selective layer") else 1


def _plain_attention(config: Cells) -> bool:
    return (text(config, "flash") or "y").lower() in {"n", "unfused", "eager"}
