"""Changes to a training that need less memory, each in words and in options, cheapest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from llmcalc.api.plans import Asked
from llmcalc.engines.train.plan import Method
from llmcalc.engines.training import Sharding
from llmcalc.planner.advice import MOST_GPUS

USUAL = Asked()

FLAGS = (
    ("-n", "gpus"), ("--shard", "shard"), ("-b", "micro_batch"), ("-s", "seq"),
    ("--framework", "framework"), ("--rank", "rank"), ("--recompute", "recompute"),
    ("--loss", "loss"), ("--optimizer", "optimizer"), ("--precision", "precision"),
)  # fmt: skip
"""Options of `train` and `fit` alike, and what they say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """One change: its name, and what it says of the training."""

    words: str
    said: Mapping[str, Any] = field(hash=False)


LEVERS = (
    Lever(words="recompute", said={"recompute": "full"}),
    Lever(words="chunked loss", said={"loss": "chunked"}),
    Lever(words="8-bit AdamW", said={"optimizer": "adamw-8bit"}),
    Lever(words="pure bf16", said={"precision": "pure-bf16"}),
)
"""Of the same method on the same GPUs, cheapest first."""

EXACT = LEVERS[:2]
"""Those that compute the same numbers."""

LORA = Lever(words="LoRA", said={"method": "lora"})
QLORA = Lever(words="QLoRA", said={"method": "qlora"})
SMALLER: dict[Method, tuple[Lever, ...]] = {
    "full": (LORA, QLORA), "dora": (LORA, QLORA), "lora": (QLORA,), "qlora": (),
}  # fmt: skip
"""Methods that need less, the least change first."""

STAGES: tuple[Sharding, ...] = ("ddp", "zero1", "zero2", "zero3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A training after some changes, and their names."""

    words: str = ""
    asked: Asked

    def then(self, *levers: Lever) -> Change:
        """The same with more changes."""
        words, asked = self.words, self.asked
        for lever in levers:
            words = f"{words}, {lever.words}" if words else lever.words
            asked = replace(asked, **lever.said)
        return Change(words=words, asked=asked)


def stages(asked: Asked) -> tuple[Lever, ...]:
    """What data ranks could deal out beyond what they do, the least first."""
    if asked.gpus == 1 or asked.shard not in STAGES:
        return ()
    return tuple(
        Lever(words=f"ZeRO stage {stage[-1]}", said={"shard": stage})
        for stage in STAGES[STAGES.index(asked.shard) + 1 :]
    )


def offloads(asked: Asked) -> tuple[Lever, ...]:
    """States, and weights too, in the host's memory; several ranks deal them out, none a copy."""
    if asked.offload == "all":
        return ()
    states: dict[str, Any] = {"offload": "optimizer"}
    everything: dict[str, Any] = {"offload": "all"}
    if asked.gpus > 1 and asked.shard == "ddp":
        states["shard"] = "zero1"
    if asked.gpus > 1 and asked.shard != "fsdp":
        everything["shard"] = "zero3"
    return (
        Lever(words="offload states", said=states),
        Lever(words="offload states and weights", said=everything),
    )


def more_gpus(asked: Asked) -> Iterator[Lever]:
    """Twice as many and so on, which deal everything out."""
    shard, name = ("zero3", "ZeRO-3") if asked.shard == "zero3" else ("fsdp", "FSDP")
    gpus = 2 * asked.gpus
    while gpus <= MOST_GPUS:
        yield Lever(words=f"{gpus} GPUs under {name}", said={"gpus": gpus, "shard": shard})
        gpus *= 2


def options(asked: Asked, usual: Asked = USUAL, *, method: str = "--method") -> str:
    """What to type for what is not usual; as it stands, after `llmcalc train MODEL --gpu GPU`."""
    told = [
        f"{flag} {getattr(asked, name)}"
        for flag, name in ((method, "method"), *FLAGS)
        if getattr(asked, name) != getattr(usual, name)
    ]
    if asked.offload != usual.offload:
        whole = asked.offload == "all"
        told.append("--offload" if whole else f"--offload-only {asked.offload}")
    return " ".join(told)
