"""The choices that `memory` and `fit` share, by the names that people type."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from llmcalc.api.request import at_least_one, not_negative
from llmcalc.blueprint import lower
from llmcalc.blueprint.shard import Parallel
from llmcalc.catalog.data import quantization, runtime
from llmcalc.engines.beside import NOTHING, Beside
from llmcalc.engines.kv_format import ALIASES, KV_FORMATS, KvFormat, KvFormats
from llmcalc.errors import ImpossibleError, UsageError
from llmcalc.planner.fit import DEFAULTS, Ask
from llmcalc.spec.card import ModelCard
from llmcalc.spec.quantization import Quantization
from llmcalc.spec.runtime import Runtime
from llmcalc.spec.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How a model is stored and run, and on how many GPUs."""

    weights: Quantization
    kv: KvFormats
    runtime: Runtime
    settings: Settings = DEFAULTS
    beside: Beside = NOTHING
    gpus: int = 1
    parallel: Parallel | None = None
    """The split where the user says it; None: the one that needs least memory on each GPU."""

    def ask(self, *, batch: int, seq: int, capacity: int, gpu: str = "") -> Ask:
        """The planner's question for so many sequences of so many tokens."""
        return Ask(
            batch=batch,
            seq=seq,
            capacity=capacity,
            gpus=self.gpus,
            weights=self.weights,
            kv=self.kv,
            runtime=self.runtime,
            settings=self.settings,
            gpu=gpu,
            beside=self.beside,
            parallel=self.parallel,
        )

    @property
    def assumptions(self) -> dict[str, str | int]:
        """In words."""
        return {
            "weights": self.weights.title,
            "KV cache": self.kv.name,
            "runtime": f"{self.runtime.name} {self.runtime.version}",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Ranks along each axis as the user says them; None: not said."""

    gpus: int | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    dp: int | None = None
    cp: int | None = None
    dcp: int | None = None
    attention_dp: int | None = None
    redundant_experts: int | None = None
    stages: tuple[int, ...] | None = None

    def parallel(self) -> Parallel | None:
        """The split, None where nothing is said; GPUs that it leaves over are replicas.

        Raises ImpossibleError for a number below one, or where the ranks are not the GPUs.
        """
        ranks = {name: getattr(self, name) for name in ("tp", "pp", "ep", "dp", "cp", "dcp")}
        ranks["attention_dp"] = self.attention_dp
        at_least_one(gpus=self.gpus, **ranks)
        if not (any(ranks.values()) or self.stages or self.redundant_experts):
            return None
        if self.stages and not self.pp:
            ranks["pp"] = len(self.stages)
        if self.ep and not (self.tp or self.pp or self.dp):
            ranks["tp"] = self.gpus or self.ep
        if self.attention_dp and not self.tp:
            ranks["tp"] = self.attention_dp
        said = {name: number for name, number in ranks.items() if number}
        wanted = Parallel(
            **said, stages=self.stages or (), redundant_experts=self.redundant_experts or 0
        )
        return self._filled(wanted)

    def _filled(self, wanted: Parallel) -> Parallel:
        """With replicas for the GPUs that are left over."""
        used = wanted.tp * wanted.pp * wanted.cp * wanted.dp
        if self.gpus is None or self.gpus == used:
            return wanted
        if self.dp is None and self.gpus % used == 0:
            return replace(wanted, dp=self.gpus // used)
        raise ImpossibleError(
            f"{shown(wanted)} is {used} GPUs, not --gpus {self.gpus}",
            hint="leave --gpus out, or make them agree",
        )


def setup(
    *,
    weights: str = "bf16",
    kv: str = "bf16",
    kv_values: str | None = None,
    engine: str = "generic",
    settings: Settings | None = None,
    beside: Beside = NOTHING,
    **ranks: Any,
) -> Setup:
    """Look the names up and agree on a split, whose ranks are the fields of Split.

    Raises UsageError for an unknown name, ImpossibleError where the split contradicts `gpus`.
    """
    split = Split(**ranks)
    parallel, chosen = split.parallel(), runtime(engine)
    format = quantization(weights)
    if beside.shared_prefix and not chosen.shares_prefix:
        raise UsageError(
            f"{chosen.name} does not share a prefix between sequences",
            hint="leave --shared-prefix out",
        )
    return Setup(
        weights=quantization(chosen.stored_as.get(format.name, format.name)),
        kv=_cache_formats(chosen, kv, kv_values),
        runtime=chosen,
        settings=settings or DEFAULTS,
        beside=beside,
        gpus=parallel.gpus if parallel else split.gpus or 1,
        parallel=parallel,
    )


def beside(
    *,
    draft: ModelCard | None = None,
    mtp: bool = False,
    max_loras: int = 0,
    max_lora_rank: int = 16,
    shared_prefix: int = 0,
    image_tokens: int = 0,
) -> Beside:
    """What is loaded beside a model. Raises ImpossibleError for a negative number."""
    not_negative(max_loras=max_loras, shared_prefix=shared_prefix, image_tokens=image_tokens)
    at_least_one(max_lora_rank=max_lora_rank)
    if not (draft or mtp or max_loras or shared_prefix or image_tokens):
        return NOTHING
    return Beside(
        draft=lower(draft) if draft else None, mtp=mtp, adapters=max_loras, rank=max_lora_rank,
        shared_prefix=shared_prefix, encoder_tokens=image_tokens,
    )  # fmt: skip


def _cache_formats(engine: Runtime, kv: str, values: str | None) -> KvFormats:
    """What keys and values are stored in. Raises UsageError for what the engine does not have."""
    keys = _cache_format(engine, "--kv", kv)
    if values is None:
        return KvFormats(keys=keys, values=keys)
    if not engine.kv_apart and values != kv:
        raise UsageError(
            f"{engine.name} stores keys and values alike", hint="leave --kv-values out"
        )
    return KvFormats(keys=keys, values=_cache_format(engine, "--kv-values", values))


def _cache_format(engine: Runtime, option: str, name: str) -> KvFormat:
    wanted = ALIASES.get(name.lower(), name.lower())
    if wanted in engine.kv_formats:
        return KV_FORMATS[wanted]
    known = ", ".join(engine.kv_formats)
    if wanted in KV_FORMATS:
        raise UsageError(
            f"{option} {name} is no cache format of {engine.name}", hint=f"it has: {known}"
        )
    raise UsageError(f"{option} {name[:100]} is no cache format", hint=f"have: {known}")


def shown(parallel: Parallel) -> str:
    """A split in words: `tp 8`, `tp 4 × pp 2`."""
    axes = ("tp", "attention_dp", "pp", "ep", "dp", "cp", "dcp")
    named = [(axis.replace("_", "-"), getattr(parallel, axis)) for axis in axes]
    return " × ".join(f"{name} {ranks}" for name, ranks in named if ranks > 1) or "one GPU"
