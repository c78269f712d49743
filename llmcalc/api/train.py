"""`train`: a first view, the memory that training holds whatever the batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from llmcalc.api.request import at_least_one
from llmcalc.blueprint import lower
from llmcalc.engines import params as counting
from llmcalc.engines.capacity import capacity
from llmcalc.engines.training import SHARDED, Sharding, static_memory
from llmcalc.formula import record_sum
from llmcalc.planner.fit import Verdict, judged
from llmcalc.report.model import Column, Report, Table
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec
from llmcalc.spec.recipe import Recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticPerGpu:
    """Bytes on each GPU; `static` is their sum, without activations."""

    weights: int
    gradients: int
    master_weights: int
    optimizer: int
    static: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainResult:
    """Static training memory of one model: activations, logits and buffers are not in it."""

    model: str
    params: int
    method: Literal["full"]
    precision: str
    shard: Sharding
    gpus: int
    gpu: str | None
    per_gpu: StaticPerGpu
    bytes_per_parameter: int
    capacity: int | None
    free_for_activations: int | None
    """Capacity less the static memory; negative where not even that fits."""
    verdict: Verdict | None
    """Of the static memory alone: `no` is certain, `fits` is not."""
    basis: Literal["exact"]
    assumptions: Mapping[str, str | int]


def train(
    card: ModelCard,
    recipe: Recipe,
    *,
    gpu: GpuSpec | None = None,
    gpus: int = 1,
    shard: Sharding = "ddp",
) -> Report:
    """Weights, gradients, master weights and Adam's moments of full fine-tuning, per GPU; exact."""
    at_least_one(gpus=gpus)
    total = counting.count(lower(card)).total
    static = static_memory(total, recipe, shard, gpus)
    parts = {
        name: getattr(static, name)
        for name in ("weights", "gradients", "master_weights", "optimizer")
    }
    record_sum("static", parts, "bytes")
    offered = capacity(gpu).bytes if gpu else None
    result = TrainResult(
        model=card.name,
        params=total,
        method="full",
        precision=recipe.name,
        shard=shard,
        gpus=gpus,
        gpu=gpu.name if gpu else None,
        per_gpu=StaticPerGpu(**parts, static=static.total),
        bytes_per_parameter=recipe.weights
        + recipe.gradients
        + recipe.master_weights
        + recipe.optimizer,
        capacity=offered,
        free_for_activations=offered - static.total if offered else None,
        verdict=judged(static.total, offered) if offered else None,
        basis="exact",
        assumptions=_assumptions(recipe, shard, gpu),
    )
    return Report(
        command="train",
        results=(result,),
        tables=(_table(result),),
        assumptions=tuple(f"{name} {value}" for name, value in result.assumptions.items()),
    )


def _assumptions(recipe: Recipe, shard: Sharding, gpu: GpuSpec | None) -> dict[str, str | int]:
    named: dict[str, str | int] = {
        "precision": recipe.title,
        "optimizer": "Adam, two moments",
        "dealt out": ", ".join(SHARDED[shard]).replace("_", " ")
        or "nothing (data parallel copies)",
        "not counted": "activations, logits, buffers, the runtime",
    }
    if gpu:
        named["capacity"] = capacity(gpu).basis
    return named


def _table(result: TrainResult) -> Table:
    parts = result.per_gpu
    rows = [
        ("weights", parts.weights),
        ("gradients", parts.gradients),
        ("master weights", parts.master_weights),
        ("Adam moments", parts.optimizer),
        ("static total", parts.static),
    ]
    if result.capacity is not None:
        rows += [
            ("capacity", result.capacity),
            ("left for activations", result.free_for_activations or 0),
        ]
    where = (
        f"{result.gpus} × {result.gpu}"
        if result.gpu
        else f"{result.gpus} GPU" + "s" * (result.gpus > 1)
    )
    return Table(
        title=f"{result.model}, {result.precision}, {result.shard} on {where}, each GPU",
        columns=(Column(key="part", title="part"), Column(key="bytes", title="size", unit="bytes")),
        rows=tuple(rows),
        note=f"{result.bytes_per_parameter} bytes a parameter before sharding; activations on top",
    )
