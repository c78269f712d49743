"""What a start of vLLM configured: on GPUs, or on a CPU that was given the bytes of its cache."""

from __future__ import annotations

from dataclasses import replace

from llmcalc.checks.measured import engines
from llmcalc.checks.measured.asked import GIB, Missing, cache, device, ranks, weights
from llmcalc.checks.measured.case import Case
from llmcalc.checks.measured.cells import number, switch, text, whole
from llmcalc.checks.measured.models import model
from llmcalc.checks.measured.reading import Cells
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, LatentAttention, Mlp, Moe
from llmcalc.spec.settings import Settings

CPU_BLOCK, CPU_LATENT_BLOCK, CPU_BATCHED = 128, 16, 4096
"""Defaults of vLLM's CPU build (vllm/platforms/cpu.py, 0.32.0): tokens of a block,
of one of latents, and tokens computed at once."""


def runtime_of(config: Cells) -> str:
    """The runtime file of the version that ran."""
    return engines.vllm(text(config, "version"), text(config, "engine"), text(config, "date"))


def vllm(config: Cells) -> Case:
    """The case of one start on GPUs. Raises Unusable where it says too little."""
    missing: Missing = {}
    card = model(config)
    runtime = runtime_of(config)
    keys, values = cache(config, "kv_cache_dtype", missing)
    tp, pp = whole(config, "tp") or 1, whole(config, "pp") or 1
    gpu, memory = device(config, missing)
    if text(config, "gpu_memory_utilization") is None:
        missing.setdefault("room", "gpu_memory_utilization is not stated")
    if "DP" in (text(config, "ep_dp") or "").upper():
        missing.setdefault("weights", "experts over data-parallel ranks are not predicted")
    if hybrid(card):
        missing["tokens"] = "tokens that vLLM prints for mixed layers are those of one KV group"
    return Case(
        card=card,
        runtime=runtime,
        weights=weights(config, "weight_quant", missing),
        keys=keys,
        values=values,
        gpu=gpu,
        memory=memory,
        tp=tp,
        pp=pp,
        ep=ranks(text(config, "ep_dp"), tp),
        ranks_stated="tp" in config,
        settings=Settings(
            gpu_memory_utilization=number(config, "gpu_memory_utilization"),
            max_model_len=whole(config, "max_model_len") or whole(config, "concurrency_len"),
            max_num_seqs=whole(config, "max_num_seqs"),
            max_num_batched_tokens=whole(config, "max_num_batched_tokens"),
            block_size=whole(config, "block_size"),
            enforce_eager=switch(config, "enforce_eager"),
        ),
        missing=missing,
    )


def vllm_cpu(config: Cells) -> Case:
    """The case of one start on a CPU; blocks of a model with states are larger than was asked."""
    block = whole(config, "block_size") or _cpu_block(model(config))
    return _given_cache(config, "kv_dtype", min(block, CPU_BLOCK))


def vllm_live(config: Cells) -> Case:
    """The case of one start on a CPU with the settings that our own question set."""
    block = whole(config, "block_size") or _cpu_block(model(config))
    case = _given_cache(config, "kv_cache_dtype", block)
    for column, usual, why in (
        ("state_dtype", "auto", "states in a format of their own are no setting of ours"),
        ("hybrid", "yes", "one layout for all layers is no setting of ours"),
        ("prefix_caching", "yes", "states without prefix caching are no setting of ours"),
    ):
        if config.get(column, usual) != usual:
            return replace(case, missing={**case.missing, "cache": why})
    return case


def _given_cache(config: Cells, formats: str, block: int) -> Case:
    missing: Missing = {"weights": "made for the run, without weights"}
    keys, values = cache(config, formats, missing)
    budget = number(config, "kv_gib")
    if not budget:
        raise Unusable("kv_gib is not stated")
    return Case(
        card=model(config),
        runtime=runtime_of(config),
        keys=keys,
        values=values,
        kv_budget=int(budget * GIB),
        settings=Settings(
            max_model_len=whole(config, "max_model_len"),
            max_num_batched_tokens=whole(config, "max_num_batched_tokens") or CPU_BATCHED,
            block_size=block,
        ),
        missing=missing,
    )


def _cpu_block(card: ModelCard) -> int:
    parts = (part for block in card.blocks.values() for part in block.parts)
    latent = any(isinstance(part, LatentAttention) for part in parts)
    return CPU_LATENT_BLOCK if latent else CPU_BLOCK


def hybrid(card: ModelCard) -> bool:
    """Whether layers remember in different ways: windows, states, or layers that keep nothing."""
    parts = [part for block in card.blocks.values() for part in block.parts]
    return any(
        part.window is not None or part.kv_reuse
        if isinstance(part, Attention)
        else not isinstance(part, LatentAttention | Mlp | Moe)
        for part in parts
    )
