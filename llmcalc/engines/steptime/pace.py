"""How long does a training step take? What is computed at the rate reached, what waits, what idles.

step = m · (micro-batch + tensor, context, expert and stage exchanges) · (1 + bubble)
     + what of the data ranks' exchanges and of offloading is not hidden + optimizer
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llmcalc.engines.steptime import traffic
from llmcalc.engines.steptime.amounts import WIDE, Amounts
from llmcalc.engines.steptime.model_flops import utilisation
from llmcalc.engines.steptime.offload import offload_seconds
from llmcalc.engines.steptime.run import Machine, Run
from llmcalc.formula import about, formula, record_sum
from llmcalc.spec.utilisation import TrainingReach, Utilisation

EXCHANGES = {
    "tensor": traffic.tensor_seconds, "context": traffic.context_seconds,
    "expert": traffic.expert_seconds, "stage": traffic.stage_seconds,
}  # fmt: skip
"""What one micro-batch waits for, by the ranks that exchange it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainStep:
    """Seconds of one step, by what they go to."""

    compute: float
    """Products, attention, and work on each element."""
    bubble: float
    """A stage waits for the first micro-batch, or has done the last."""
    exchange: float
    """Tensor, context, expert and stage ranks: computing waits for them."""
    gradients: float
    """What of the data ranks' exchanges does not hide behind computing."""
    offload: float
    """Transfers to and from the host that do not hide, and the update there."""
    optimizer: float
    tokens: int
    gpus: int
    model_flops: float
    hardware_flops: float
    peak: float
    """FLOP/s of one device."""

    @property
    def seconds(self) -> float:
        """All of the step."""
        waits = self.exchange + self.gradients + self.offload
        return self.compute + self.bubble + waits + self.optimizer

    @property
    def tokens_per_second_per_gpu(self) -> float:
        """Of one device."""
        return self.tokens / (self.seconds * self.gpus)

    @property
    def mfu(self) -> float:
        """Model FLOPs over what the devices could compute at their peak."""
        with about("mfu"):
            return self._share(self.model_flops)

    @property
    def hfu(self) -> float:
        """The same with what is computed again."""
        with about("hfu"):
            return self._share(self.hardware_flops)

    def _share(self, flops: float) -> float:
        return float(utilisation(flops=flops, seconds=self.seconds, gpus=self.gpus, peak=self.peak))


@formula(
    "((matmul / reached + experts / reached_by_experts) / peak"
    " + attention / (reached_by_attention · attention_peak) + moved / bandwidth) / ranks + latency",
    source="shares of peaks that public runs reach: llmcalc/utilisation/training.yaml",
    unit="seconds",
    basis="modelled",
)
def computing_seconds(
    *, matmul: float, reached: float, experts: float, reached_by_experts: float, peak: float,
    attention: float, reached_by_attention: float, attention_peak: float, moved: float,
    bandwidth: float, ranks: int, latency: float,
) -> float:  # fmt: skip
    """Of FLOPs at the rates reached, bytes moved by elementwise work, and launches of layers."""
    multiplied = (matmul / reached + experts / reached_by_experts) / peak
    attended = attention / (reached_by_attention * attention_peak)
    return (multiplied + attended + moved / bandwidth) / ranks + latency


@formula(
    "m · compute_of_a_micro_batch", source="micro-batches, one after another", unit="seconds",
    basis="modelled",
)  # fmt: skip
def compute_seconds(*, m: int, compute_of_a_micro_batch: float) -> float:
    """Of all micro-batches of a step."""
    return m * compute_of_a_micro_batch


@formula(
    "m · exchange_of_a_micro_batch",
    source="computing waits for what tensor, context, expert and stage ranks exchange",
    unit="seconds",
    basis="modelled",
)
def exchange_seconds(*, m: int, exchange_of_a_micro_batch: float) -> float:
    """Of all micro-batches of a step."""
    return m * exchange_of_a_micro_batch


@formula(
    "idle · (compute + exchange)", source="idle: of a pipeline, over its busy time",
    unit="seconds", basis="modelled",
)  # fmt: skip
def bubble_seconds(*, idle: float, compute: float, exchange: float) -> float:
    """That a stage of the pipeline waits."""
    return idle * (compute + exchange)


@formula(
    "max(0, exchanges − overlap · compute / micro_batches)",
    source="exchanges of data ranks hide behind a share of the computing of so many micro-batches: "
    "llmcalc/utilisation/training.yaml",
    unit="seconds",
    basis="modelled",
)
def exposed_seconds(
    *, exchanges: float, overlap: float, compute: float, micro_batches: int
) -> float:
    """Of the data ranks' exchanges that does not hide."""
    return max(0.0, exchanges - overlap * compute / micro_batches)


@formula(
    "weights / ranks · bytes / bandwidth",
    source="an update reads and writes so many bytes of each weight of its share",
    unit="seconds",
    basis="modelled",
)
def update_seconds(*, weights: float, ranks: int, bytes: float, bandwidth: float) -> float:
    """Of the optimizer."""
    return weights / ranks * bytes / bandwidth


def train_step(
    work: Amounts, run: Run, machine: Machine, every: Utilisation, reach: TrainingReach
) -> TrainStep:
    """The time of one step."""
    split = run.parallel
    one = _computing(work, run, machine, every, reach)
    computing = _named(
        "compute", compute_seconds, m=run.micro_batches, compute_of_a_micro_batch=one
    )
    waiting = _waiting(work, run, machine.reaching(every.tensor_link), one)
    waits = _named("exchange", exchange_seconds, m=run.micro_batches,
                   exchange_of_a_micro_batch=waiting) if waiting else 0.0  # fmt: skip
    with about("idle"):
        idle = traffic.idle(run) if split.pp > 1 else 0.0
    stalls = _named("bubble", bubble_seconds, idle=idle, compute=computing,
                    exchange=waits) if idle else 0.0  # fmt: skip
    data = traffic.data_seconds(work, run, machine.reaching(reach.link))
    exposed = _named(
        "gradients", exposed_seconds, exchanges=data, overlap=reach.overlap, compute=computing,
        micro_batches=traffic.behind(run),
    ) if data else 0.0  # fmt: skip
    room = reach.overlap * computing - (data - exposed)
    batches = run.micro_batches * split.dp
    step = TrainStep(
        compute=computing, bubble=stalls, exchange=waits, gradients=exposed,
        offload=offload_seconds(work, run, machine, room=room),
        optimizer=0.0 if run.states_on_host else _optimizer(work, run, machine),
        tokens=run.step_tokens, gpus=split.gpus, model_flops=work.model * batches,
        hardware_flops=(work.model + work.again) * batches, peak=machine.compute,
    )  # fmt: skip
    parts = {
        "compute": step.compute, "bubble": step.bubble, "exchange": step.exchange,
        "gradients": step.gradients, "offload": step.offload, "optimizer": step.optimizer,
    }  # fmt: skip
    record_sum("step_seconds", parts, "seconds", "modelled")
    return step


def _computing(
    work: Amounts, run: Run, machine: Machine, every: Utilisation, reach: TrainingReach
) -> float:
    """Seconds of one micro-batch on one stage, every rank of it at work."""
    rows = work.layers * work.width * every.element_copies * work.passes / 3
    ranks = run.parallel.tp * run.parallel.cp * run.parallel.pp
    moved = work.tokens * (rows + work.vocab * every.logit_copies)
    if run.weight_bytes < WIDE and run.adapters:  # each pass widens them, on every context rank
        moved += run.parallel.cp * work.passes * work.weights * (run.weight_bytes + WIDE)
    latency = work.passes * work.layers / run.parallel.pp * every.layer_seconds
    return _named(
        "compute_of_a_micro_batch", computing_seconds, matmul=work.matmul, reached=reach.matmul,
        experts=work.experts, reached_by_experts=reach.experts, peak=machine.compute,
        attention=work.attention, reached_by_attention=reach.attention,
        attention_peak=machine.attention, moved=moved, bandwidth=machine.bandwidth, ranks=ranks,
        latency=latency,
    )  # fmt: skip


def _waiting(work: Amounts, run: Run, machine: Machine, computing: float) -> float:
    """Seconds that one micro-batch of so many waits for exchanges.

    DualPipe hides those of experts and stages behind the micro-batch of the other direction
    (arXiv:2412.19437, section 3.2.1).
    """
    found = {name: seconds(work, run, machine) for name, seconds in EXCHANGES.items()}
    hidden = min(computing if run.schedule == "dualpipe" else 0.0, found["expert"] + found["stage"])
    if any(found.values()):
        parts = found | ({"hidden": -hidden} if hidden else {})
        record_sum("exchange_of_a_micro_batch", parts, "seconds", "modelled")
    return sum(found.values()) - hidden


def _optimizer(work: Amounts, run: Run, machine: Machine) -> float:
    """Seconds to read and write weights, gradients and states."""
    return _named(
        "optimizer", update_seconds, weights=traffic.trained_weights(work, run), ranks=run.sharers,
        bytes=run.updated_bytes, bandwidth=machine.bandwidth,
    )  # fmt: skip


def _named(name: str, formula: Callable[..., float], **values: float) -> float:
    """Of a formula whose step is called so."""
    with about(name):
        return formula(**values)
