"""Everything that one device can show alone, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from llmcalc.bench import launch, streams
from llmcalc.bench.attention import reading
from llmcalc.bench.decode import FIGURE, Decode
from llmcalc.bench.device import Device
from llmcalc.bench.judge import Judge
from llmcalc.bench.listener import Listener
from llmcalc.bench.matmul import DOTS, FLOOR, KERNELS, Weights, cached_dots, weights_gb_s
from llmcalc.bench.plan import Plan
from llmcalc.bench.samples import DRIFT
from llmcalc.bench.shapes import Matrix, cache_shape, matrices
from llmcalc.spec.card import ModelCard
from llmcalc.spec.measurement import AttentionRate, Dtype, MatmulRate, StepRate, StreamRate
from llmcalc.twin.model import ModelTwin
from llmcalc.twin.setting import Kernel

T = TypeVar("T")

ROUNDS = 2
"""Times that decode steps are taken, where the machine changes between them and the rates."""
AGAIN = 0.3
"""Share of the time that must be left for it."""
HOPELESS = 0.5
"""Share of the bandwidth of fp32 weights below which bf16 is emulated, and not used."""
_KERNELS: tuple[Kernel, ...] = ("sdpa", "grouped")


class Bench:
    """One run: each method measures something, and keeps what it finds."""

    def __init__(
        self, device: Device, card: ModelCard, plan: Plan, peak: float | None, listener: Listener
    ) -> None:
        self.device, self.card, self.plan, self.listener = device, card, plan, listener
        self.judge = Judge(device, plan.effort, peak, plan.seconds)
        self.shapes, self.cache = matrices(card), cache_shape(card)
        self.dtype: Dtype = "bf16"
        self.launch: float | None = None
        self.operator: float | None = None
        self.dots: float | None = None
        self.streams: list[StreamRate] = []
        self.matmuls: list[MatmulRate] = []
        self.attention: list[AttentionRate] = []
        self.steps: list[StepRate] = []

    def all(self) -> None:
        """What decode steps rest on, the steps, and then what else there is."""
        if self.cache is None:
            self.judge.refuses("decode attention", f"{self.card.name} has none")
        batches = tuple(sorted({batch for batch, _ in self.plan.steps}))
        contexts = tuple(sorted({context for _, context in self.plan.steps}))
        others = tuple(one for one in self.plan.batches if one not in batches)
        try:
            self._streams()
            self._launch()
            self._choose()
            self._weights(batches)
            self._attention(contexts)
            self._decode()
            self._row_by_row()
            self._weights(others)
            self._attention(tuple(one for one in self.plan.contexts if one not in contexts))
            self._formats()
        finally:
            self.listener.ends()

    def best_attention(self) -> AttentionRate | None:
        """The fastest kernel at the longest context."""
        return max(self.attention, key=lambda one: (one.context, one.gb_s), default=None)

    def read_gb_s(self) -> float | None:
        """Of the largest arrays."""
        return streams.headline(self.streams, "read")

    def weights_gb_s(self, m: int) -> float | None:
        """Of all matrices, for so many tokens."""
        return weights_gb_s(self.shapes, self.matmuls, self.dtype, m)

    def kv_gb_s(self, kernel: Kernel, context: int) -> float | None:
        """With that kernel, at the context measured that is nearest."""
        found = [one for one in self.attention if one.kernel == kernel]
        nearest = min(found, key=lambda one: abs(one.context - context), default=None)
        return nearest.gb_s if nearest else None

    def _tried(self, figure: str, measure: Callable[[], T]) -> list[T]:
        """What is found, or nothing."""
        self.listener.measures(figure)
        found = self.judge.tried(figure, measure)
        return [] if found is None else [found]

    def _streams(self) -> None:
        for size in streams.sizes(self.device, quick=self.plan.quick):
            held = streams.arrays(self.device, size)
            for operation in streams.MOVED:
                self.streams += self._tried(
                    f"{operation} of {size // 2**20} MiB",
                    partial(streams.stream, operation, held, self.judge),
                )

    def _launch(self) -> None:
        empty = self._tried(launch.LAUNCH, partial(launch.launch_seconds, self.judge))
        usual = self._tried(launch.OPERATOR, partial(launch.operator_seconds, self.judge))
        self.launch, self.operator = next(iter(empty), None), next(iter(usual), None)

    def _choose(self) -> None:
        """The format of decode steps: bf16, but fp32 on a CPU that emulates bf16."""
        if self.device.kind != "cpu":
            return
        dtypes: tuple[Dtype, ...] = ("fp32", "bf16")
        for dtype in dtypes:
            self._matmuls(self.shapes[0], dtype, (1,))
        if not self.judge.disturbed and self._is_hopeless(self.shapes[0]):
            self.judge.refuses("decode in bf16", "this CPU emulates it; fp32 is used instead")
            self.dtype = "fp32"

    def _weights(self, tokens: tuple[int, ...]) -> None:
        """The matrices with the largest shares, for so many tokens."""
        for matrix in self.shapes[: self.plan.shapes]:
            known = {one.m for one in self.matmuls if self._key(one) == self._wanted(matrix)}
            self._matmuls(matrix, self.dtype, tuple(one for one in tokens if one not in known))

    @staticmethod
    def _key(one: MatmulRate) -> tuple[int, int, str]:
        return one.n, one.k, one.dtype

    def _wanted(self, matrix: Matrix) -> tuple[int, int, str]:
        return matrix.n, matrix.k, self.dtype

    def _is_hopeless(self, matrix: Matrix) -> bool:
        """Whether bf16 is much slower than fp32, a byte."""
        rates = {
            one.dtype: one.gb_s
            for one in self.matmuls
            if (one.n, one.k, one.m) == (matrix.n, matrix.k, 1)
        }
        return len(rates) > 1 and rates["bf16"] < HOPELESS * rates["fp32"]

    def _row_by_row(self) -> None:
        """Narrow weights as engines on CPUs multiply them: from memory, and from a cache."""
        if self.device.kind != "cpu":
            return
        matrix = self.shapes[0]
        self._matmuls(matrix, "int8", (1,))
        for found in self._tried(DOTS, partial(cached_dots, matrix.k, self.judge)):
            self.dots = found

    def _formats(self) -> None:
        """The largest matrix with the tokens of a prefill, and in other formats."""
        tokens = (*self.plan.batches, *self.plan.prefill)
        self._matmuls(self.shapes[0], self.dtype, self.plan.prefill)
        if self.device.kind == "cpu":
            other: Dtype = "fp32" if self.dtype == "bf16" else "bf16"
            self._matmuls(self.shapes[0], other, self.plan.prefill)
        known = {one.m for one in self.matmuls if one.dtype == "int8"}
        self._matmuls(self.shapes[0], "int8", tuple(one for one in tokens if one not in known))
        if self.device.kind == "cpu":
            self.judge.refuses("fp8 matmul", "torch multiplies fp8 on CPUs number by number")
        else:
            self._matmuls(self.shapes[0], "fp8", tokens)

    def _matmuls(self, matrix: Matrix, dtype: Dtype, tokens: tuple[int, ...]) -> None:
        if not tokens:
            return
        figure = f"{dtype} matmul n {matrix.n}, k {matrix.k}"
        for weights in self._tried(figure, partial(Weights, matrix, dtype, self.device)):
            for m in tokens:
                if m >= FLOOR.get(KERNELS[dtype].name, 1):
                    self.matmuls += self._tried(
                        f"{figure}, m {m}", partial(weights.rate, m, self.judge)
                    )

    def _attention(self, contexts: tuple[int, ...]) -> None:
        """One query over caches of these contexts, those beyond the model's limit cut to it."""
        shape, limit = self.cache, self.card.max_position_embeddings
        if shape is None:
            return
        known = {one.context for one in self.attention}
        for context in dict.fromkeys(min(one, limit or one) for one in contexts):
            if context in known:
                continue
            for kernel in _KERNELS:
                self.attention += self._tried(
                    f"{kernel} attention to {context} tokens",
                    partial(reading, shape, context, self.dtype, kernel, self.judge),
                )

    def _decode(self) -> None:
        """Whole steps; what they rest on is measured anew where the machine changed meanwhile."""
        decode = Decode(card=self.card, dtype=self.dtype, kernel=self._kernel(), rates=self)
        for model in self._tried(FIGURE, partial(decode.model, self.judge, self.plan)):
            for more in reversed(range(ROUNDS)):
                mark = self.judge.mark()
                self.steps = self._steps(decode, model)
                change = self._change()
                if abs(change) <= DRIFT:
                    return
                if not more or self.judge.left < AGAIN:
                    break
                self.judge.back_to(mark)
                self._anew()
            self.steps = [replace(one, predicted_seconds=None) for one in self.steps]
            why = f"weights were read at {1 + change:.0%} of their first speed afterwards"
            self.judge.refuses("prediction of the decode step", why)

    def _steps(self, decode: Decode, model: tuple[ModelCard, ModelTwin]) -> list[StepRate]:
        return [
            found
            for batch, context, graph in decode.wanted(self.judge, self.plan)
            for found in self._tried(
                decode.figure(batch, context, graph=graph),
                partial(decode.step, self.judge, model, batch, context, graph=graph),
            )
        ]

    def _kernel(self) -> Kernel:
        """Of decode steps: that which read the cache fastest."""
        best = self.best_attention()
        return "grouped" if best and best.kernel == "grouped" else "sdpa"

    def _change(self) -> float:
        """By how much the largest matrix is read faster now than when it was measured."""
        matrix, judge = self.shapes[0], self.judge
        before = self._rate_of(matrix)
        again = Weights(matrix, self.dtype, self.device)
        self.listener.measures("weights once more")
        now = judge.tried("weights once more", partial(again.rate, 1, judge))
        return now.gb_s / before - 1 if now and before else 0.0

    def _rate_of(self, matrix: Matrix) -> float | None:
        """Bandwidth of a matrix for one token."""
        found = (one for one in self.matmuls if self._key(one) == self._wanted(matrix))
        return next((one.gb_s for one in found if one.m == 1), None)

    def _anew(self) -> None:
        """Weights for the batches of the steps, and the cache, in place of what was found first."""
        batches = {batch for batch, _ in self.plan.steps}
        self.matmuls = [
            one for one in self.matmuls if one.m not in batches or one.dtype != self.dtype
        ]
        self._weights(tuple(sorted(batches)))
        self.attention = []
        self._attention(tuple(context for _, context in self.plan.steps))
