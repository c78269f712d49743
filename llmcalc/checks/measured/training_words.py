"""How people write what they trained with, and which of our names that is."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from llmcalc.checks.measured.cells import text
from llmcalc.checks.measured.model_names import named
from llmcalc.checks.measured.reading import Cells
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.engines.training import Sharding
from llmcalc.spec.card import ModelCard
from llmcalc.spec.pattern import layer_names

Memory = Literal["allocated", "reserved", "device", "devices"]
"""What a number counts: live tensors, what torch's allocator holds, what the driver shows of one
GPU, or of all of them."""

_KINDS: tuple[tuple[str, Memory], ...] = (
    (r"summed", "devices"),
    (r"allocated \+", "devices"),
    (r"allocated", "allocated"),
    (r"reserved", "reserved"),
    (r"device memory|per GPU|VRAM", "device"),
)
_TRUNCATED = re.compile(r"(.+) shapes truncated to (\d+) layers")
_SIZE = re.compile(r"\s+\d+(?:\.\d+)?B$")

FRAMEWORKS: tuple[tuple[str, str], ...] = (
    ("megatron+deepspeed", "deepspeed"), ("megatron", "megatron-lm"),
    ("ms-swift/megatron", "megatron-lm"), ("ms-swift megatron", "megatron-lm"),
    ("litgpt", "litgpt"), ("torchtune", "torchtune"), ("torchtitan", "torchtitan"),
    ("deepspeed", "deepspeed"), ("ms-swift deepspeed", "deepspeed"),
    ("qwen", "qwen"), ("hf", "huggingface"), ("ms-swift", "huggingface"),
    ("axolotl", "axolotl"), ("fsdp_qlora", "fsdp-qlora"), ("llama-recipes", "huggingface"),
    ("unsloth", "huggingface"), ("llama-factory", "huggingface"),
)  # fmt: skip
"""Starts of what a column `framework` says."""

_TARGETS = {
    "w1": "up", "w2": "gate", "self_attn": "attention", "all": "all-linear",
    "linear": "all-linear", "attn.c_proj": "c_proj",
}  # fmt: skip
"""The one with a dot stands for both of Qwen's: its finetune.py never had but c_proj."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Who holds what, as a column says it."""

    sharding: Sharding
    stated: bool


def memory_kind(config: Cells) -> Memory:
    """What the row's number counts. Raises Unusable where that is not said."""
    said = text(config, "mem_kind") or "nothing"
    for pattern, kind in _KINDS:
        if re.search(pattern, said, re.IGNORECASE):
            return kind
    if said == "peak" and (text(config, "framework") or "").startswith("torchtune"):
        return "reserved"  # its logs print peak_memory_reserved beside peak_memory_active
    raise Unusable(f"what the memory counts is not stated: {said}")


def framework(config: Cells) -> str:
    """The framework file of a row. Raises Unusable for one that we lack."""
    said = (text(config, "framework") or "").lower()
    for start, name in FRAMEWORKS:
        if said.startswith(start):
            old = name == "litgpt" and "2023" in (text(config, "version") or "")
            if name == "qwen" and _by_deepspeed(config):
                return "qwen-deepspeed"
            return "litgpt-2023" if old else name
    raise Unusable(f"training framework {said or 'unnamed'!r} is not one of ours")


def _by_deepspeed(config: Cells) -> bool:
    """Whether one of Qwen's scripts starts DeepSpeed: all but LoRA of 16-bit weights on one GPU."""
    alone = (text(config, "task") or "") in {"lora", "lora+emb"} and not text(config, "quant")
    return not alone


def card(config: Cells) -> ModelCard:
    """The card of a row, cut to so many layers where it says so. Raises Unusable for none."""
    said = text(config, "model") or ""
    cut = _TRUNCATED.fullmatch(said)
    name = cut[1].replace("_", "-") if cut else _SIZE.sub("", said)
    # The first Qwen has the shapes of its successor, whose card is in the catalog.
    name = re.sub(r"^Qwen-(?=[\d.]+B$)", "Qwen1.5-", name)
    name = re.sub(r"^llama3-405b$", "llama3.1-405b", name)
    found = named(name) or named(said)
    if len(found) != 1:
        raise Unusable(f"model {said!r} is not in the catalog")
    whole = found[0]
    if cut is None:
        return whole
    # SimuMax's truncated models keep one dense layer in front of those with experts.
    first, *rest = layer_names(whole.layers)
    return replace(whole, layers=(first, *rest[1 - int(cut[2]) :]))


def shard(config: Cells) -> Shard:
    """How a row deals its states out."""
    said = (text(config, "shard") or "").lower()
    for word, found in (
        ("unstated", None), ("gemini", "zero3"), ("fsdp", "fsdp"), ("zero-3", "zero3"),
        ("zero3", "zero3"), ("zero-2", "zero2"), ("zero2", "zero2"), ("zero-1", "zero1"),
        ("ddp", "ddp"),
    ):  # fmt: skip
        if word in said:
            known: Sharding = found or "ddp"  # type: ignore[assignment]
            return Shard(sharding=known, stated=found is not None)
    return Shard(sharding="ddp", stated=True)


def targets(config: Cells) -> frozenset[str]:
    """What people call the targets; queries and values where nothing is said.

    Raises Unusable where they stand in a file of the run.
    """
    said = text(config, "lora_targets")
    if said is None:
        return frozenset({"q", "v"})
    if said.startswith("list in"):
        raise Unusable("targets stand in a file of the run")
    plain = re.sub(r"\s*\([^)]*\)", "", said)
    found = {one.strip() for one in plain.split(",")}
    return frozenset(_TARGETS.get(one, one) for one in found)


def recipe(config: Cells, usual: str) -> str:
    """The precision recipe of a row, the framework's own where it says no more than bf16."""
    said = (text(config, "precision") or "").lower()
    if "fp8" in said and (text(config, "framework") or "").lower().startswith("megatron-bridge"):
        return "fp8-bf16-gradients"  # as its performance recipes have it
    for word, name in (
        ("fp32 main", "megatron"), ("fp8", "fp8"), ("true", "pure-bf16"), ("pure", "pure-bf16"),
        ("torch.bfloat16", "pure-bf16"), ("fp16 mixed", "bf16-mixed"), ("bf16 mixed", "bf16-mixed"),
        ("fp32", "fp32"),
    ):  # fmt: skip
        if word in said:
            return name
    return usual


def optimizer(config: Cells) -> str:
    """The optimizer file of a row. Raises Unusable for one that we lack."""
    said = (text(config, "optimizer") or "adamw").lower().replace("_", "-")
    torchtune = (text(config, "framework") or "").startswith("torchtune")
    if torchtune and said == "pagedadamw" and text(config, "gpus") == "1":
        return "paged-adamw-in-backward"  # its 7B_full_low_memory.yaml
    for start, name in (
        ("pagedadamw", "paged-adamw"), ("adamw-bnb-8bit", "adamw-8bit"),
        ("adamw-torch-8bit", "adamw-8bit"), ("adamw-8bit", "adamw-8bit"), ("muon", "muon"),
        ("adam", "adamw"), ("sgd", "sgd"), ("lion", "lion"),
    ):  # fmt: skip
        if said.startswith(start):
            return name
    raise Unusable(f"optimizer {said!r} is not one of ours")
