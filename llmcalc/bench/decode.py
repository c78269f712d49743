"""Whole decode steps of a card, each beside what the rates measured apart say of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from llmcalc.bench.judge import Judge, Refused
from llmcalc.bench.model import cut, materialised
from llmcalc.bench.plan import Plan
from llmcalc.bench.predict import predicted
from llmcalc.bench.rates import mbu
from llmcalc.bench.samples import Samples
from llmcalc.bench.step import Step, stepped
from llmcalc.formula import about
from llmcalc.spec.card import ModelCard
from llmcalc.spec.measurement import Dtype, StepRate
from llmcalc.spec.pattern import layer_names
from llmcalc.twin.model import ModelTwin
from llmcalc.twin.setting import Kernel

FIGURE = "decode step"
TAKEN = 0.6
"""Share of the free memory of a device that weights may take."""


class Rates(Protocol):
    """What was measured apart before, in GB/s and seconds; None where it was refused."""

    launch: float | None
    operator: float | None

    def read_gb_s(self) -> float | None:
        """Memory."""
        ...

    def weights_gb_s(self, m: int) -> float | None:
        """All matrices for m tokens."""
        ...

    def kv_gb_s(self, kernel: Kernel, context: int) -> float | None:
        """The cache."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Decode:
    """A model, and the rates that its steps are predicted from."""

    card: ModelCard
    dtype: Dtype
    kernel: Kernel
    rates: Rates

    def model(self, judge: Judge, plan: Plan) -> tuple[ModelCard, ModelTwin]:
        """As many layers as fit, and the card that says which. Raises Refused."""
        if not self.card.causal:
            raise Refused(FIGURE, f"{self.card.name} is no decoder")
        room = int(TAKEN * judge.device.free)
        room = min(room, plan.room) if judge.device.kind == "cpu" else room
        card = cut(self.card, self.dtype, room)
        return card, materialised(card, judge.device, self.dtype, self.kernel)

    def wanted(self, judge: Judge, plan: Plan) -> Iterator[tuple[int, int, bool]]:
        """Batch, context and graph of each step."""
        limit = self.card.max_position_embeddings
        steps = {(batch, min(context, limit or context)): None for batch, context in plan.steps}
        for batch, context in steps:
            yield batch, context, False
            if judge.device.kind == "cuda":
                yield batch, context, True

    def figure(self, batch: int, context: int, *, graph: bool) -> str:
        """What a step is called."""
        way = ", CUDA graph" if graph else ""
        return f"{FIGURE} of batch {batch}, context {context}{way}"

    def step(
        self, judge: Judge, model: tuple[ModelCard, ModelTwin], batch: int, context: int, *,
        graph: bool,
    ) -> StepRate:  # fmt: skip
        """One step, measured and predicted. Raises Refused."""
        card, twin = model
        figure = self.figure(batch, context, graph=graph)
        try:
            step = Step(twin, card, batch, context)
        except KeyError:
            why = "layers that fit read the cache of a layer that does not"
            raise Refused(figure, why) from None
        samples = stepped(step, judge, figure, graph=graph)
        return self._rate(card, step, samples, judge.peak or self.rates.read_gb_s(), graph=graph)

    def _rate(
        self, card: ModelCard, step: Step, samples: Samples, against: float | None, *, graph: bool
    ) -> StepRate:
        batch, context, operators = step.batch, step.context, step.operators()
        used = None
        if against:
            with about(f"step_{batch}_{context}"):
                used = mbu(
                    weight_bytes=step.weight_bytes, kv_bytes=step.kv_bytes,
                    seconds=samples.median, peak=against,
                )  # fmt: skip
        guess = predicted(
            weight_bytes=step.weight_bytes, kv_bytes=step.kv_bytes,
            operators=1 if graph else operators, weights=self.rates.weights_gb_s(batch),
            kv=self.rates.kv_gb_s(self.kernel, context),
            launch=self.rates.launch if graph else self.rates.operator,
        )  # fmt: skip
        return StepRate(
            model=self.card.name, layers=len(layer_names(card.layers)),
            of_layers=len(layer_names(self.card.layers)), batch=batch, context=context,
            dtype=self.dtype, kernel=self.kernel, graph=graph, operators=operators,
            weight_bytes=step.weight_bytes, kv_bytes=step.kv_bytes,
            tokens_per_second=batch / samples.median, mbu=used, predicted_seconds=guess,
            seconds=samples.median, seconds_p10=samples.p10, seconds_p90=samples.p90,
        )  # fmt: skip
