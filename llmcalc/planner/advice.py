"""What would make it fit, cheapest change first, each with its own recomputed total."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from llmcalc.engines.kv_format import KV_FORMATS, KvFormats
from llmcalc.planner.fit import COMFORT, Ask, Fit, Planner, Verdict, served
from llmcalc.spec.quantization import Quantization

MOST_GPUS = 1024
STEP = 256
"""Tokens; a shorter context is advised in multiples of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One change: in words, as options to type, and what the model then needs."""

    change: str
    options: str
    needed: int
    verdict: Verdict
    host: int = 0
    """Bytes that it moves to the memory of the host, of all GPUs together."""


def advise(
    planner: Planner, ask: Ask, found: Fit, formats: tuple[Quantization, ...]
) -> tuple[Advice, ...]:
    """Changes after which it fits, or is tight where it did not fit; none where it fits already."""
    if found.verdict == "fits":
        return ()
    worth = ("fits",) if found.verdict == "tight" else ("fits", "tight")
    tried = (
        *_quantised(planner, ask, formats),
        *_shorter(planner, ask, found),
        *_smaller(planner, ask),
        *_wider(planner, ask),
        *_offloaded(planner, ask, found),
    )
    return tuple(advice for advice in tried if advice.verdict in worth)


def _quantised(planner: Planner, ask: Ask, formats: tuple[Quantization, ...]) -> Iterator[Advice]:
    """Smaller weights, a smaller cache, and both where neither is enough."""
    smaller = [format for format in formats if format.bits < ask.weights.bits]
    caches = _smaller_caches(ask)
    single = [
        _tried(
            planner,
            replace(ask, weights=format),
            f"{format.name} weights",
            f"--weights {format.name}",
        )
        for format in smaller
    ]
    single += [
        _tried(planner, replace(ask, kv=kv), f"{kv.name} KV cache", f"--kv {kv.name}")
        for kv in caches
    ]
    yield from single
    if any(advice.verdict == "fits" for advice in single):
        return
    for format in smaller:
        for kv in caches:
            yield _tried(
                planner, replace(ask, weights=format, kv=kv),
                f"{format.name} weights and {kv.name} KV cache",
                f"--weights {format.name} --kv {kv.name}",
            )  # fmt: skip


def _smaller_caches(ask: Ask) -> list[KvFormats]:
    """The first format of the engine that takes about half of what is used now."""
    half = ask.kv.keys.bits * 0.55
    names = [name for name in ask.runtime.kv_formats if KV_FORMATS[name].bits <= half]
    return [KvFormats(keys=KV_FORMATS[name], values=KV_FORMATS[name]) for name in names[:1]]


def _shorter(planner: Planner, ask: Ask, found: Fit) -> Iterator[Advice]:
    """The longest context that is comfortable, in whole steps."""
    limit = planner.limit
    if limit and ask.seq > limit:
        yield _tried(
            planner, replace(ask, seq=limit), f"the model's {limit:,} tokens", f"--seq {limit}"
        )
    seq = planner.fit(planner.comfortable(ask)).max_context
    seq = seq // STEP * STEP or seq
    if 0 < seq < found.seq:
        yield _tried(planner, replace(ask, seq=seq), f"{seq:,} tokens each", f"--seq {seq}")


def _smaller(planner: Planner, ask: Ask) -> Iterator[Advice]:
    """The largest batch that is comfortable."""
    batch = planner.fit(planner.comfortable(ask)).max_batch
    if 0 < batch < ask.batch:
        yield _tried(planner, replace(ask, batch=batch), f"batch {batch}", f"--batch {batch}")


def _wider(planner: Planner, ask: Ask) -> Iterator[Advice]:
    """The fewest GPUs, doubling, on which it fits."""
    if ask.parallel is not None:
        return
    gpus = 2 * ask.gpus
    while gpus <= MOST_GPUS:
        advice = _tried(planner, replace(ask, gpus=gpus), f"{gpus} GPUs", f"--gpus {gpus}")
        if advice.verdict == "fits":
            yield advice
            return
        gpus *= 2


def _offloaded(planner: Planner, ask: Ask, found: Fit) -> Iterator[Advice]:
    """The fewest layers whose weights, in host memory, make room; each token reads them anew."""
    layers = len(planner.ledger.order)
    outside = sum(found.stage.weights.get(name, 0) for name in ("embedding", "head"))
    layer = (sum(found.stage.weights.values()) - outside) // layers
    over = max(found.needed - int(COMFORT * ask.capacity), -found.free)
    moved = -(-over // layer)
    if found.parallel.gpus > 1 or not 0 < moved <= layers:
        return
    needed = found.needed - moved * layer
    verdict = served(needed, -found.free - moved * layer, found.serving, ask.capacity)
    change = f"weights of {moved} of {layers} layers in host memory"
    yield Advice(change=change, options="", needed=needed, verdict=verdict, host=moved * layer)


def _tried(planner: Planner, ask: Ask, change: str, options: str) -> Advice:
    found = planner.fit(ask)
    return Advice(change=change, options=options, needed=found.needed, verdict=found.verdict)
