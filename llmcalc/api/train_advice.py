"""What would make a training fit, cheapest change first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from llmcalc.api.plans import Asked, Method
from llmcalc.api.trained import Trained
from llmcalc.planner.advice import MOST_GPUS, Advice

SMALLER: dict[Method, tuple[Method, ...]] = {
    "full": ("lora", "qlora"), "lora": ("qlora",), "dora": ("qlora",), "qlora": (),
}  # fmt: skip
"""Methods that need less, the least change first."""

USUAL = Asked()


def advise(one: Trained) -> tuple[Advice, ...]:
    """Changes after which it fits, or is tight where it did not fit; none where it fits already."""
    if one.verdict == "fits":
        return ()
    worth = ("fits",) if one.verdict == "tight" else ("fits", "tight")
    tried = (_tried(one, change, asked) for change, asked in _changes(one))
    return tuple(advice for advice in tried if advice.verdict in worth)


def _tried(one: Trained, change: str, asked: Asked) -> Advice:
    return Advice(
        change=change, options=options(asked), needed=one.total(asked),
        verdict=one.verdict_of(asked),
    )  # fmt: skip


def _changes(one: Trained) -> Iterator[tuple[str, Asked]]:
    asked = one.asked
    if one.too_long(asked):
        asked = replace(asked, seq=one.context_limit or asked.seq)
        yield f"the model's {asked.seq:,} tokens", asked
    if 0 < one.max_batch < asked.micro_batch:
        yield f"micro-batch {one.max_batch}", replace(asked, micro_batch=one.max_batch)
    yield from _leaner(one, asked)
    for method in SMALLER[asked.method]:
        yield _leanest(one, method, replace(asked, method=method))
    gpus = 2 * asked.gpus
    while gpus <= MOST_GPUS:
        more = f"{gpus} GPUs under FSDP", replace(asked, gpus=gpus, shard="fsdp")
        found = _leanest(one, *more)
        if one.verdict_of(found[1]) == "fits":
            yield found
            return
        gpus *= 2


def _leaner(one: Trained, asked: Asked) -> Iterator[tuple[str, Asked]]:
    """Ways to keep less, one at a time; together only where no one of them is enough."""
    alone = (
        ("recompute every layer", replace(asked, recompute="full")),
        ("a loss in chunks", replace(asked, loss="chunked")),
        ("8-bit AdamW", replace(asked, optimizer="adamw-8bit")),
    )
    yield from alone
    if any(one.verdict_of(changed) == "fits" for _, changed in alone):
        return
    both = replace(asked, recompute="full", loss="chunked")
    yield "recompute, a loss in chunks", both
    if one.verdict_of(both) != "fits":
        all_three = replace(both, optimizer="adamw-8bit")
        yield "recompute, a loss in chunks, 8-bit AdamW", all_three


def _leanest(one: Trained, change: str, asked: Asked) -> tuple[str, Asked]:
    """A change with as little of recomputation and chunks as makes it fit."""
    again = replace(asked, recompute="full")
    both = replace(again, loss="chunked")
    ways = ((change, asked), (f"{change}, recompute", again))
    fitting = (way for way in ways if one.verdict_of(way[1]) == "fits")
    return next(fitting, (f"{change}, recompute, a loss in chunks", both))


def options(asked: Asked) -> str:
    """What to type after `llmcalc train MODEL --gpu GPU`."""
    told = (
        ("-n", asked.gpus, asked.gpus > 1), ("--shard", asked.shard, asked.shard != USUAL.shard),
        ("--method", asked.method, asked.method != USUAL.method),
        ("-b", asked.micro_batch, asked.micro_batch != USUAL.micro_batch),
        ("-s", asked.seq, asked.seq != USUAL.seq),
        ("--recompute", asked.recompute, asked.recompute != USUAL.recompute),
        ("--loss", asked.loss, asked.loss is not None),
        ("--optimizer", asked.optimizer, asked.optimizer != USUAL.optimizer),
    )  # fmt: skip
    return " ".join(f"{flag} {value}" for flag, value, said in told if said)
