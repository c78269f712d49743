"""What a row of training speed, or of a whole run's GPU-hours, configured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from llmcalc.blueprint import lower
from llmcalc.blueprint.parallel import Parallel
from llmcalc.checks.measured.case import Aspect
from llmcalc.checks.measured.cells import number, text, whole
from llmcalc.checks.measured.gpu_names import board
from llmcalc.checks.measured.model_names import named
from llmcalc.checks.measured.reading import Cells
from llmcalc.checks.measured.training import TrainingCase, training
from llmcalc.checks.measured.training_shapes import mpt, trained_card
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.engines.params import count
from llmcalc.engines.steptime.run import Dealt, Run
from llmcalc.spec.card import ModelCard
from llmcalc.spec.gpu import GpuSpec

_METHODS = {
    "pretrain": "full", "full": "full", "sft/full": "full", "lora": "lora", "qlora": "qlora",
    "sft/lora": "lora",
}  # fmt: skip
_DEALT: tuple[tuple[str, Dealt], ...] = (
    ("full_shard", "weights"), ("shard_grad_op", "gradients"), ("fsdp", "weights"),
    ("gemini", "weights"), ("zero-3", "weights"), ("zero3", "weights"), ("zero-2", "gradients"),
    ("zero2", "gradients"), ("zero-1", "optimizer"), ("zero1", "optimizer"), ("ddp", "nothing"),
)  # fmt: skip
_GROUP = re.compile(r"(?:group |zero1=)(\d+)", re.IGNORECASE)
_MEGATOKENS = re.compile(r"([\d.]+)M tokens")
NEAR = 0.1
"""By which a stated size may differ from a card's."""
PAGED = 8.0
"""Bytes of two moments: bitsandbytes keeps those of PagedAdamW in float32."""
USUAL_BATCHES = 4
"""Micro-batches of a step where the global batch is not stated: a few, so that what happens once a
step weighs little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeCase:
    """One step, timed."""

    card: ModelCard
    gpu: GpuSpec
    run: Run
    bits: int
    """Of the operands of products."""
    params: float | None
    """Of the whole model, as stated."""
    missing: Mapping[Aspect, str]
    ranks_stated: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HoursCase:
    """A whole run."""

    card: ModelCard
    gpu: GpuSpec
    gpus: int | None
    tokens: float
    bits: int
    missing: Mapping[Aspect, str]
    ranks_stated: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRow:
    """A row of training: its memory and its time are predicted apart; one may be unusable."""

    memory: TrainingCase | None
    time: TimeCase | None
    missing: Mapping[Aspect, str]
    ranks_stated: bool = True


def training_row(config: Cells) -> TrainingRow:
    """Both halves of a row. Raises Unusable where neither can be predicted."""
    missing: dict[Aspect, str] = {}
    memory = time = None
    try:
        memory = training(config)
        missing.update(memory.missing)
    except Unusable as why:
        missing["room"] = missing["devices"] = str(why)
    try:
        time = training_time(config)
    except Unusable as why:
        missing["time"] = str(why)
    if memory is None and time is None:
        raise Unusable(missing["room"])
    return TrainingRow(memory=memory, time=time, missing=missing)


def training_time(config: Cells) -> TimeCase:
    """The case of a timed step. Raises Unusable where the row says too little."""
    task = text(config, "task") or ""
    if task not in _METHODS:
        raise Unusable(f"task {task!r} is not one whose time is predicted")
    frozen = _METHODS[task] != "full"
    card = trained_card(config)
    found = board(text(config, "gpu"))
    if found is None:
        raise Unusable(f"GPU {config.get('gpu', '')!r} is not in the catalog")
    precision = (config.get("precision") or "").lower()
    return TimeCase(
        card=card, gpu=found, run=_run(config, frozen=frozen),
        bits=8 if re.search(r"fp8|float8", precision) else 16,
        params=number(config, "params_b"), missing={},
    )  # fmt: skip


def hours(config: Cells) -> HoursCase:
    """The case of a whole run. Raises Unusable where the row says too little."""
    tokens = number(config, "tokens_b")
    if not (config.get("phase") or "").startswith("pretrain"):
        raise Unusable("only GPU-hours of pre-training say how many tokens were trained on")
    if not tokens:
        raise Unusable("the tokens are not stated")
    found = board(text(config, "gpu"))
    if found is None:
        raise Unusable(f"GPU {config.get('gpu', '')!r} is not in the catalog")
    return HoursCase(
        card=_model(config), gpu=found, gpus=whole(config, "gpus"), tokens=tokens * 1e9, bits=16,
        missing={},
    )  # fmt: skip


def group(config: Cells) -> str:
    """What GPU-hours are counted under."""
    return f"training, {(config.get('phase') or 'whole run').split()[0]}"


def _model(config: Cells) -> ModelCard:
    said = config.get("model", "")
    if said == "MPT-1.3B":  # the benchmarks' MPT-1b has 1.316 B
        return mpt("MPT-1b")
    plain = re.sub(r"\s*\(.*\)", "", said).replace(".0B", "B")
    found = named(plain) or named(re.sub(r"[- ]\d+(\.\d+)?[BM]$", "", plain))
    told = number(config, "params_b")
    near = (
        card
        for card in found
        if told is None or abs(count(lower(card)).total / 1e9 / told - 1) < NEAR
    )
    card = next(near, None)
    if card is None:
        raise Unusable(f"model {said!r} is not in the catalog")
    return card


def _run(config: Cells, *, frozen: bool) -> Run:
    tp, pp, cp = (whole(config, name) or 1 for name in ("tp", "pp", "cp"))
    gpus = whole(config, "gpus") or 1
    if gpus % (tp * pp * cp):
        raise Unusable(f"{gpus} GPUs do not divide into TP {tp}, PP {pp}, CP {cp}")
    dp = gpus // (tp * pp * cp)
    seq, micro_batch = whole(config, "seq"), _micro_batch(config)
    if seq is None or micro_batch is None:
        raise Unusable("micro-batch or sequence is not stated")
    batch = _global_batch(config, seq)
    batches = max(1, round(batch / (micro_batch * dp))) if batch else USUAL_BATCHES * pp
    again, attention = _recomputed(config)
    return Run(
        parallel=Parallel(tp=tp, pp=pp, dp=dp, cp=cp, ep=whole(config, "ep") or 1), seq=seq,
        micro_batch=micro_batch, micro_batches=batches, vpp=whole(config, "vpp") or 1,
        schedule="interleaved" if (whole(config, "vpp") or 1) > 1 else "1f1b",
        dealt=_dealt(config), replicate=_replicate(config, dp),
        layers_again=again, attention_again=attention, adapters=frozen,
        weight_bytes=0.5 if text(config, "quant") else 2.0,
        paged_bytes=PAGED if (config.get("optimizer") or "").lower().startswith("paged") else 0.0,
        gradient_bytes=4.0 if "fp32 main" in (config.get("precision") or "") else 2.0,
    )  # fmt: skip


def _micro_batch(config: Cells) -> int | None:
    """The first number of `8 (16k tokens per GPU)`."""
    match = re.match(r"\d+", text(config, "mbs") or "")
    return int(match[0]) if match else None


def _global_batch(config: Cells, seq: int) -> int | None:
    """Sequences of a step, of `4M tokens` or `~32` too."""
    said = (text(config, "gbs") or "").lstrip("~")
    if match := _MEGATOKENS.match(said):
        return round(float(match[1]) * 2**20 / seq)
    return int(said) if said.isdecimal() else None


def _dealt(config: Cells) -> Dealt:
    said = (text(config, "shard") or "").lower()
    return next((found for word, found in _DEALT if word in said), "nothing")


def _replicate(config: Cells, dp: int) -> int:
    """Groups of data ranks that each deal all out, of `ZeRO-1 group 8` or `zero1=8`."""
    match = _GROUP.search(text(config, "shard") or "")
    size = int(match[1]) if match else dp
    return dp // size if 0 < size <= dp and dp % size == 0 else 1


def _recomputed(config: Cells) -> tuple[float, bool]:
    """Share of layers that are computed again, and whether the core of attention alone is.

    torchtitan's `selective layer` is every second one (its default), `selective op` keeps what
    products put out; a row that says nothing of it is taken for one without.
    """
    said = (config.get("recompute") or "").lower()
    if said.startswith(("full", "fsdp recipe")):
        return 1.0, False
    if said.startswith("selective layer"):
        return 0.5, False
    return 0.0, said.startswith("selective")
