"""What does a whole run take and cost? Tokens, hours, money, energy."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from llmcalc.formula import formula

HOUR = 3600


@formula(
    "ceil(samples · epochs · seq / packing)",
    source="sequences that are filled to a share are computed whole: padding costs what tokens do",
    unit="tokens",
)
def computed_tokens(*, samples: int, epochs: float, seq: int, packing: float) -> int:
    """Tokens that are computed for samples of `seq` tokens of which `packing` share is no padding.

    `seq` counts the tokens of a sample that are wanted; 1 is full packing.
    """
    return ceil(samples * epochs * seq / packing)


@formula("ceil(tokens / step_tokens)", source="the last step may be short", unit="steps")
def steps(*, tokens: int, step_tokens: int) -> int:
    """Steps of a run."""
    return -(-tokens // step_tokens)


@formula(
    "steps · step_seconds / goodput",
    source="goodput: the share of the time that steps which last are computed in",
    unit="seconds",
    basis="modelled",
)
def run_seconds(*, steps: int, step_seconds: float, goodput: float) -> float:
    """Of a whole run."""
    return steps * step_seconds / goodput


@formula(
    "gpus · seconds / 3600",
    source="every GPU is held for the whole run, and paid for while others work",
    unit="hours",
    basis="modelled",
)
def gpu_hours(*, gpus: int, seconds: float) -> float:
    """GPU-hours of a run."""
    return gpus * seconds / HOUR


@formula("hours · price", source="price of one GPU for an hour", unit="USD", basis="modelled")
def cost(*, hours: float, price: float) -> float:
    """Money for so many GPU-hours."""
    return hours * price


@formula(
    "hours · watts · overhead / 1000",
    source="an upper bound: no GPU draws more than its TDP for long; overhead is the PUE",
    unit="kWh",
    basis="modelled",
)
def energy_kwh(*, hours: float, watts: float, overhead: float) -> float:
    """Energy of so many GPU-hours at the TDP."""
    return hours * watts * overhead / 1000


@formula(
    "flops · tokens / (peak · mfu · share · 3600)",
    source="model FLOPs over what one GPU computes in an hour; share: steady over whole run",
    unit="hours",
    basis="modelled",
)
def published_hours(*, flops: float, tokens: float, peak: float, mfu: float, share: float) -> float:
    """GPU-hours of a run from the model FLOPs of a token and a utilisation, however many GPUs."""
    return flops * tokens / (peak * mfu * share * HOUR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """A whole run."""

    tokens: int
    steps: int
    seconds: float
    steady_seconds: float
    """Without failures, checkpoints and restarts."""
    gpu_hours: float
    cost: float | None
    """None where no price is known."""
    energy_kwh: float | None
    """At the TDP: an upper bound. None where none is known."""


def totals(
    *,
    tokens: int,
    step_tokens: int,
    step_seconds: float,
    gpus: int,
    goodput: float = 1.0,
    price: float | None = None,
    watts: float | None = None,
    overhead: float = 1.0,
) -> Totals:
    """What a run of so many tokens takes."""
    count = steps(tokens=tokens, step_tokens=step_tokens)
    seconds = run_seconds(steps=count, step_seconds=step_seconds, goodput=goodput)
    hours = gpu_hours(gpus=gpus, seconds=seconds)
    return Totals(
        tokens=tokens, steps=count, seconds=seconds, steady_seconds=count * step_seconds,
        gpu_hours=hours, cost=None if price is None else cost(hours=hours, price=price),
        energy_kwh=None if watts is None
        else energy_kwh(hours=hours, watts=watts, overhead=overhead),
    )  # fmt: skip
