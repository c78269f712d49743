"""What share of the time does a long run on many devices get on? Failures, checkpoints, restarts.

Failures come at random and independently, as often for every device (a Poisson process). After one,
the job starts again from its last checkpoint: what was computed since is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, sqrt

from llmcalc.errors import ImpossibleError
from llmcalc.formula import about, formula

HOUR = 3600
LLAMA3_GPUS, LLAMA3_DAYS, LLAMA3_INTERRUPTIONS = 16_384, 54, 419
"""Unexpected interruptions of Llama 3 405B's training (arXiv:2407.21783, section 3.3.4, table 5);
47 planned ones are not among them."""
DEVICE_MTBF_HOURS = LLAMA3_GPUS * LLAMA3_DAYS * 24 / LLAMA3_INTERRUPTIONS
"""50,677 hours from one failure of a device, its host or its network to the next: 5.8 years."""
RESTART_SECONDS = 600.0
"""To notice, replace, start and load: an assumption; no publisher of ours gives its mean."""
STATE_BYTES = 14
"""Of a parameter in a checkpoint: bf16 weights, float32 masters and two moments (bf16-mixed)."""
MOST_GPUS = 100_000


@formula("mtbf / gpus", source="independent failures of as many devices", unit="seconds")
def cluster_mtbf(*, mtbf: float, gpus: int) -> float:
    """Seconds between failures of a job, from those of one device."""
    return mtbf / gpus


@formula(
    "sqrt(2 · delta · M)",
    source="Young 1974: the interval that loses least, to first order",
    unit="seconds",
    basis="modelled",
)
def young_interval(*, delta: float, M: float) -> float:  # noqa: N803  the paper's symbol
    """Seconds of computing between checkpoints of `delta` seconds, failures every M seconds."""
    return sqrt(2 * delta * M)


@formula(
    "young · (1 + sqrt(delta / (2 · M)) / 3 + delta / (18 · M)) − delta",
    source="Daly 2006, equation 37: the same to higher order",
    unit="seconds",
    basis="modelled",
)
def higher_order(*, young: float, delta: float, M: float) -> float:  # noqa: N803
    """Seconds between checkpoints that take not much less than failures are apart."""
    share = delta / (2 * M)
    return young * (1 + sqrt(share) / 3 + share / 9) - delta


def daly_interval(delta: float, mtbf: float) -> float:
    """Seconds of computing between checkpoints; the MTBF where one takes twice as long as that."""
    if delta >= 2 * mtbf:
        return mtbf
    first: float = young_interval(delta=delta, M=mtbf)
    with about("checkpoint_interval"):
        best: float = higher_order(young=first, delta=delta, M=mtbf)
    return best


@formula(
    "interval / (mtbf · exp(restart / mtbf) · (exp((interval + delta) / mtbf) − 1))",
    source="Daly 2006, equation 20: segments of an interval and a checkpoint, each begun anew "
    "until it gets through",
    basis="modelled",
)
def useful_share(*, interval: float, delta: float, restart: float, mtbf: float) -> float:
    """Computing that lasts over the time it takes."""
    exponent = (interval + delta) / mtbf
    if exponent + restart / mtbf > 600:  # noqa: PLR2004  e^600 is near the largest float
        return 0.0
    return interval / (mtbf * exp(restart / mtbf) * expm1(exponent))


@dataclass(frozen=True, slots=True, kw_only=True)
class Goodput:
    """How a run gets on."""

    share: float
    """Of the time, that computing which lasts goes on: 0 where it does not get on at all."""
    interval: float
    """Seconds of computing between checkpoints."""
    mtbf: float
    """Seconds between failures of the job."""
    failures_per_day: float
    checkpoint_seconds: float
    restart_seconds: float


def goodput(
    gpus: int,
    *,
    checkpoint_seconds: float,
    restart_seconds: float = RESTART_SECONDS,
    mtbf_hours: float = DEVICE_MTBF_HOURS,
    interval: float | None = None,
) -> Goodput:
    """Goodput of a job on so many devices; the interval that is best where none is given.

    Raises ImpossibleError for times that are not above 0, and for more devices than the failures
    of published runs can speak for.
    """
    if not 1 <= gpus <= MOST_GPUS:
        raise ImpossibleError(f"failures are modelled for 1 to {MOST_GPUS:,} GPUs, not {gpus:,}")
    if min(checkpoint_seconds, mtbf_hours) <= 0 or restart_seconds < 0 or (interval or 1) <= 0:
        raise ImpossibleError("times between failures and for checkpoints are above 0")
    mtbf: float = cluster_mtbf(mtbf=mtbf_hours * HOUR, gpus=gpus)
    chosen = interval or daly_interval(checkpoint_seconds, mtbf)
    with about("goodput"):
        share: float = useful_share(
            interval=chosen, delta=checkpoint_seconds, restart=restart_seconds, mtbf=mtbf
        )
    return Goodput(
        share=share, interval=chosen, mtbf=mtbf, failures_per_day=24 * HOUR / mtbf,
        checkpoint_seconds=checkpoint_seconds, restart_seconds=restart_seconds,
    )  # fmt: skip


@formula(
    "params · bytes / rate", source="all states written once; the rate is assumed",
    unit="seconds", basis="modelled",
)  # fmt: skip
def checkpoint_seconds(*, params: int, bytes: int, rate: float) -> float:
    """Seconds to write a checkpoint to storage of so many bytes a second, while training waits."""
    return params * bytes / rate
