"""Published training runs on many GPUs, configuration and speed; none of them is a row of the fit.

What a publisher does not state is said beside the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llmcalc.api import plans
from llmcalc.api.train import TrainResult, train
from llmcalc.api.train_time import Asked, TrainTime, train_time
from llmcalc.blueprint import lower
from llmcalc.catalog.find import card, gpu
from llmcalc.checks.measured.training_shapes import plain
from llmcalc.spec.card import ModelCard

A100, H100, H800 = "a100-sxm4-80gb", "h100-sxm5-80gb", "h800-sxm5-80gb"
GPT_WORDS = 51_200
"""GPT-2's vocabulary, filled up to a multiple of 1,024."""
KORTHIKANTI = "arXiv:2205.05198, tables 3 and 5"
"""With sequence parallelism and selective recomputation; 530B on 2,240 by its abstract's MFU."""
NARAYANAN = "arXiv:2104.04473, table 2 and equation 3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One run."""

    name: str
    card: ModelCard
    gpu: str
    plan: dict[str, Any]
    tokens_per_second_per_gpu: float
    source: str
    unstated: str = ""


def gpt(name: str, width: int, layers: int, heads: int, words: int = GPT_WORDS) -> ModelCard:
    """A GPT-3 of other sizes."""
    return plain("mpt-7b", name, width, layers, heads, 4 * width, words)


def said(run: Published) -> TrainTime:
    """What we say of a run."""
    plan = plans.plan(plans.Asked(**run.plan))
    return train_time(lower(run.card), plan, gpu(run.gpu), Asked())


def verdict(run: Published, **more: Any) -> str | None:
    """Whether we say that the memory of a run is enough."""
    asked = plans.plan(plans.Asked(**run.plan | more))
    (found,) = train(run.card, asked, gpu=gpu(run.gpu)).results
    assert isinstance(found, TrainResult)
    return found.verdict


def error(run: Published) -> float:
    """Relative error of tokens a second, above 0 where we are too fast."""
    return said(run).tokens_per_second_per_gpu / run.tokens_per_second_per_gpu - 1


def megatron(gpus: int, batch: int, tp: int, pp: int, **more: Any) -> dict[str, Any]:
    """Megatron-LM at sequences of 2,048."""
    usual = {"framework": "megatron-lm", "precision": "megatron", "seq": 2048, "tp": tp, "pp": pp}
    return usual | {"gpus": gpus, "global_batch": batch} | more


def by_iteration(gpus: int, batch: int, seconds: float) -> float:
    """Tokens a second of one GPU from the time of an iteration."""
    return batch * 2048 / seconds / gpus


def by_teraflops(teraflops: float, layers: int, width: int) -> float:
    """From what a GPU computes, recomputation included: 96 B s l h² (1 + s/6h + V/16lh)."""
    more = 1 + 2048 / (6 * width) + GPT_WORDS / (16 * layers * width)
    return teraflops * 1e12 / (96 * layers * width**2 * more)


def _korthikanti() -> list[Published]:
    rows = (
        ("GPT 22B", (6144, 48, 64), 8, 4, 1, 1, 4, 1.10),
        ("GPT 175B", (12_288, 96, 96), 64, 64, 8, 3, 1, 13.75),
        ("GPT 530B", (20_480, 105, 128), 280, 280, 35, 3, 1, 37.83),
        ("GPT 530B", (20_480, 105, 128), 2240, 2240, 35, 3, 1, 37.83 * 56.0 / 54.2),
        ("GPT 1T", (25_600, 128, 160), 512, 512, 64, 1, 1, 71.49),
    )
    return [
        Published(
            name=f"{name}, {gpus} A100, selective", card=gpt("gpt", *sizes), gpu=A100,
            source=KORTHIKANTI,
            plan=megatron(gpus, batch, 8, pp, vpp=vpp, micro_batch=micro, recompute="selective"),
            tokens_per_second_per_gpu=by_iteration(gpus, batch, seconds),
        )
        for name, sizes, gpus, batch, pp, vpp, micro, seconds in rows
    ]  # fmt: skip


def _narayanan() -> list[Published]:
    small, large = (12_288, 96, 96), (20_480, 105, 128)
    rows = (
        ("GPT 175B", small, 384, 12, 1536, 153), ("GPT 175B", small, 768, 12, 1536, 149),
        ("GPT 175B", small, 1536, 12, 1536, 141), ("GPT 530B", large, 560, 35, 2240, 171),
        ("GPT 530B", large, 1120, 35, 2240, 167), ("GPT 530B", large, 2240, 35, 2240, 159),
    )  # fmt: skip
    return [
        Published(
            name=f"{name}, {gpus} A100, full", card=gpt("gpt", *sizes), gpu=A100, source=NARAYANAN,
            plan=megatron(gpus, batch, 8, pp, recompute="full"),
            tokens_per_second_per_gpu=by_teraflops(rate, sizes[1], sizes[0]),
            unstated="pieces of a stage: 1 taken",
        )
        for name, sizes, gpus, pp, batch, rate in rows
    ]  # fmt: skip


def _llama3() -> list[Published]:
    flops = 6 * 405.85e9 + 6 * 126 * 16_384 * 8192
    return [
        Published(
            name=f"Llama 3 405B, {gpus:,} H100", card=card("llama3.1-405b"), gpu=H100,
            plan={
                "gpus": gpus, "tp": 8, "pp": 16, "vpp": 8, "shard": "zero2", "seq": 8192,
                "global_batch": 2048,
            },
            tokens_per_second_per_gpu=rate * 1e12 / flops, source="arXiv:2407.21783, table 4",
            unstated="micro-batch: 1; pieces of a stage: 8, a layer each; attention causal",
        )
        for gpus, rate in ((8192, 430), (16_384, 400))
    ]  # fmt: skip


MEGASCALE = Published(
    name="GPT 175B, 12,288 A100",
    card=gpt("gpt", 12_288, 96, 128, 64_000),
    gpu=A100,
    plan=megatron(12_288, 6144, 8, 8, vpp=6, shard="zero1"),
    tokens_per_second_per_gpu=0.412 * 312e12 / (6 * 175e9 + 12 * 96 * 12_288 * 2048),
    source="arXiv:2402.15627, tables 1 and 2: Megatron-LM, MFU 41.2 %",
    unstated="micro-batch: 1; no recomputation; A100 for an Ampere GPU",
)
DEEPSEEK_V3 = Published(
    name="DeepSeek-V3, 2,048 H800",
    card=card("deepseek-v3"),
    gpu=H800,
    plan={
        "framework": "megatron-lm", "precision": "fp8", "gpus": 2048, "pp": 16, "ep": 64,
        "shard": "zero1", "schedule": "dualpipe", "seq": 4096, "global_batch": 15_360,
    },
    tokens_per_second_per_gpu=14.8e12 / (2.664e6 * 3600),
    source="arXiv:2412.19437, table 1 and sections 3.2 and 4.2: 2,664 thousand GPU-hours",
    unstated="micro-batch: 1; hours hold restarts; a head for a further token left out",
)  # fmt: skip


def _flat_zero3() -> list[Published]:
    small, large = (12_288, 96, 96), (20_480, 105, 128)
    rows = (
        ("GPT 175B", small, 384, 1536, 4, 144), ("GPT 175B", small, 768, 1536, 2, 88),
        ("GPT 175B", small, 1536, 1536, 1, 44), ("GPT 530B", large, 640, 2560, 4, 138),
        ("GPT 530B", large, 1120, 2240, 2, 98), ("GPT 530B", large, 2240, 2240, 1, 48),
    )  # fmt: skip
    return [
        Published(
            name=f"{name}, {gpus} A100, ZeRO-3", card=gpt("gpt", *sizes), gpu=A100,
            plan={
                "framework": "deepspeed", "seq": 2048, "gpus": gpus, "micro_batch": micro,
                "global_batch": batch, "shard": "zero3", "recompute": "full",
            },
            tokens_per_second_per_gpu=by_teraflops(rate, sizes[1], sizes[0]), source=NARAYANAN,
        )
        for name, sizes, gpus, batch, micro, rate in rows
    ]  # fmt: skip


FAR_OFF = tuple(_flat_zero3())
"""ZeRO-3 of 2021 without other parallelism: up to 4.4 times slower than we say."""
RUNS = (*_korthikanti(), *_narayanan(), *_llama3(), MEGASCALE, DEEPSEEK_V3)
