"""Seconds that a step waits for the host: weights that come up, gradients that go down, its Adam.

ZeRO-Offload (arXiv:2101.06840, sections 3 and 4) keeps masters and moments on the host and updates
there; ZeRO-Infinity (arXiv:2104.07857, section 6) brings the weights up for every pass, each rank
its own share. Transfers go on while a device computes, as far as exchanges of data ranks do.
"""

from __future__ import annotations

from llmcalc.engines.steptime.amounts import Amounts
from llmcalc.engines.steptime.run import Machine, Run
from llmcalc.engines.steptime.traffic import held_weights, trained_weights
from llmcalc.formula import formula


@formula(
    "passes · bytes / rate",
    source="ZeRO-Infinity, arXiv:2104.07857, section 6.1: each rank brings its own share",
    unit="seconds",
    basis="modelled",
)
def weights_seconds(*, passes: float, bytes: float, rate: float) -> float:
    """For weights to come up for so many passes."""
    return passes * bytes / rate


@formula(
    "max(weights · each · ranks / host, up / rate)",
    source="ZeRO-Offload, arXiv:2101.06840, section 5.1: tiles are updated while others go up",
    unit="seconds",
    basis="modelled",
)
def host_adam_seconds(
    *, weights: float, each: float, ranks: int, host: float, up: float, rate: float
) -> float:
    """To update the weights of a rank: `each` bytes of host memory a weight, by all of a host."""
    return max(weights * each * ranks / host, up / rate)


@formula(
    "2 · bytes / rate",
    source="states in managed memory, a page at a time as the update needs them: bitsandbytes, "
    "paged optimizers",
    unit="seconds",
    basis="modelled",
)
def paged_seconds(*, bytes: float, rate: float) -> float:
    """For paged states to come up and go down, while nothing is computed."""
    return 2 * bytes / rate


def offload_seconds(work: Amounts, run: Run, machine: Machine, *, room: float) -> float:
    """What of a step's transfers does not hide in so many seconds of computing, and the update.

    Gradients go down behind the last micro-batch at most.
    """
    held, stepped = held_weights(work, run), trained_weights(work, run)
    share, updated, seconds = held / run.sharers, stepped / run.sharers, 0.0
    if run.weights_on_host:
        mine = (share if run.dealt == "weights" else held) * run.weight_bytes
        up = weights_seconds(passes=2 * run.micro_batches, bytes=mine, rate=machine.host_link)
        hidden = min(up, room)
        seconds, room = up - hidden, room - hidden
    if run.paged_bytes:
        seconds += paged_seconds(bytes=updated * run.paged_bytes, rate=machine.host_link)
    if run.states_on_host:
        down = updated * run.gradient_bytes / machine.host_link
        seconds += max(0.0, down - room / run.micro_batches)
        again = 0.0 if run.weights_on_host else updated * run.weight_bytes
        seconds += host_adam_seconds(
            weights=updated, each=run.host_bytes, ranks=min(machine.node, run.parallel.gpus),
            host=machine.host, up=again, rate=machine.host_link,
        )  # fmt: skip
    return seconds
