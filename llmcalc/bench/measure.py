"""Everything that is measured on one device, in order, and what it comes to."""

from __future__ import annotations

from functools import partial

from llmcalc.bench import streams
from llmcalc.bench.attention import reading
from llmcalc.bench.device import Device
from llmcalc.bench.launch import launch_seconds
from llmcalc.bench.listener import Listener
from llmcalc.bench.matmul import FLOOR, KERNELS, Weights, weights_gb_s
from llmcalc.bench.model import cut, materialised
from llmcalc.bench.plan import Plan
from llmcalc.bench.predict import kv_rate, predicted
from llmcalc.bench.shapes import Matrix, cache_shape, matrices
from llmcalc.bench.step import Step, steps_in, trusted
from llmcalc.bench.trusted import Refusals, Refused
from llmcalc.formula import about
from llmcalc.bench.rates import mbu
from llmcalc.spec.card import ModelCard
from llmcalc.spec.measurement import (
    AttentionRate,
    Dtype,
    MatmulRate,
    StepRate,
    StreamRate,
)
from llmcalc.spec.pattern import layer_names
from llmcalc.twin.model import ModelTwin
from llmcalc.twin.setting import Kernel

HOPELESS = 0.5
"""Share of the bandwidth of fp32 weights below which bf16 is emulated, and not used."""
_KERNELS: tuple[Kernel, ...] = ("sdpa", "grouped")


class Bench:
    """One run: each method measures something, and keeps what it finds."""

    def __init__(
        self, device: Device, card: ModelCard, plan: Plan, peak: float | None, listener: Listener
    ) -> None:
        self.device, self.card, self.plan, self.peak = device, card, plan, peak
        self.listener, self.refusals = listener, Refusals()
        self.shapes: tuple[Matrix, ...] = matrices(card)
        self.dtype: Dtype = "bf16"
        self.kernel: Kernel = "sdpa"
        self.launch: float | None = None
        self.streams: list[StreamRate] = []
        self.matmuls: list[MatmulRate] = []
        self.attention: list[AttentionRate] = []
        self.steps: list[StepRate] = []

    def all(self) -> None:
        """Everything that one device can show alone."""
        self._streams()
        self._launch()
        self._weights()
        self._formats()
        self._attention()
        self._decode()

    def _streams(self) -> None:
        for size in streams.sizes(self.device, quick=self.plan.quick):
            held = streams.arrays(self.device, size)
            for operation in streams.MOVED:
                figure = f"{operation} of {size // 2**20} MiB"
                self.listener.measures(figure)
                found = self.refusals.tried(
                    figure,
                    partial(
                        streams.stream, operation, held, self.device, self.plan.effort, self.peak
                    ),
                )
                self.streams += [found] if found else []

    def _launch(self) -> None:
        self.listener.measures("launch of an operator")
        self.launch = self.refusals.tried(
            "launch of an operator", partial(launch_seconds, self.device, self.plan.effort)
        )

    def _weights(self) -> None:
        """All matrices at the batches of decode, the largest with the tokens of a prefill too."""
        if self.device.kind == "cpu":
            self._matmuls(self.shapes[0], "fp32", (1, *self.plan.prefill))
        for at, matrix in enumerate(self.shapes[: self.plan.shapes]):
            prefill = self.plan.prefill if at == 0 else ()
            self._matmuls(matrix, self.dtype, (*self.plan.batches, *prefill))
            if at == 0 and self.device.kind == "cpu" and self._is_hopeless(matrix):
                self.refusals.note("decode in bf16", "this CPU emulates it; fp32 is used instead")
                self.dtype = "fp32"
                self._matmuls(matrix, "fp32", self.plan.batches[1:])

    def _is_hopeless(self, matrix: Matrix) -> bool:
        """Whether bf16 is much slower than fp32, a byte."""
        rates = {
            one.dtype: one.gb_s
            for one in self.matmuls
            if (one.n, one.k, one.m) == (matrix.n, matrix.k, 1)
        }
        return rates.get("bf16", 0.0) < HOPELESS * rates.get("fp32", 0.0)

    def _formats(self) -> None:
        """The largest matrix in formats of 8 bits."""
        tokens = (*self.plan.batches, *self.plan.prefill)
        self._matmuls(self.shapes[0], "int8", tokens)
        if self.device.kind == "cpu":
            self.refusals.note("fp8 matmul", "torch multiplies fp8 on CPUs number by number")
        else:
            self._matmuls(self.shapes[0], "fp8", tokens)

    def _matmuls(self, matrix: Matrix, dtype: Dtype, tokens: tuple[int, ...]) -> None:
        figure = f"{dtype} matmul n {matrix.n}, k {matrix.k}"
        self.listener.measures(figure)
        weights = self.refusals.tried(figure, partial(Weights, matrix, dtype, self.device))
        if weights is None:
            return
        for m in tokens:
            if m < FLOOR.get(KERNELS[dtype].name, 1):
                continue
            self.listener.measures(f"{figure}, m {m}")
            found = self.refusals.tried(
                f"{figure}, m {m}", partial(weights.rate, m, self.plan.effort, self.peak)
            )
            self.matmuls += [found] if found else []

    def _attention(self) -> None:
        shape = cache_shape(self.card)
        if shape is None:
            self.refusals.note("decode attention", f"{self.card.name} has none")
            return
        limit = self.card.max_position_embeddings or max(self.plan.contexts)
        for context in [one for one in self.plan.contexts if one <= limit] or [limit]:
            for kernel in _KERNELS:
                figure = f"{kernel} attention to {context} tokens"
                self.listener.measures(figure)
                found = self.refusals.tried(
                    figure,
                    partial(
                        reading, shape, context, dtype=self.dtype, kernel=kernel,
                        device=self.device, effort=self.plan.effort, peak=self.peak,
                    ),
                )  # fmt: skip
                self.attention += [found] if found else []
        best = self.best_attention()
        self.kernel = "grouped" if best and best.kernel == "grouped" else "sdpa"

    def best_attention(self) -> AttentionRate | None:
        """The fastest kernel at the longest context."""
        return max(self.attention, key=lambda one: (one.context, one.gb_s), default=None)

    def weights_gb_s(self, m: int) -> float | None:
        """Of all matrices, for so many tokens."""
        return weights_gb_s(self.shapes, self.matmuls, self.dtype, m)

    def _decode(self) -> None:
        if not self.card.causal:
            self.refusals.note("decode step", f"{self.card.name} is no decoder")
            return
        self.listener.measures(f"a model as {self.card.name}")
        room = int(0.6 * self.device.free)
        if self.device.kind == "cpu":
            room = min(room, self.plan.room)
        card = cut(self.card, self.dtype, room)
        model = self.refusals.tried(
            "decode step", partial(materialised, card, self.device, self.dtype, self.kernel)
        )
        for batch, context in self.plan.steps if model else ():
            limit = self.card.max_position_embeddings or context
            for graph in (False, True) if self.device.kind == "cuda" else (False,):
                way = ", CUDA graph" if graph else ""
                figure = f"decode step of batch {batch}, context {min(context, limit)}{way}"
                self.listener.measures(figure)
                found = self.refusals.tried(
                    figure,
                    partial(
                        self._step, model, card, batch, min(context, limit),
                        graph=graph, figure=figure,
                    ),
                )  # fmt: skip
                self.steps += [found] if found else []

    def _step(
        self, model: ModelTwin, card: ModelCard, batch: int, context: int, *, graph: bool,
        figure: str,
    ) -> StepRate:  # fmt: skip
        try:
            step = Step(model, card, batch, context)
        except KeyError:
            raise Refused(figure, "the layers that fit read caches of layers that do not") from None
        read = step.weight_bytes + step.kv_bytes
        samples = steps_in(step, self.device, self.plan.effort, graph=graph)
        trusted(samples, read, self.peak, figure)
        against = self.peak or streams.headline(self.streams, "read")
        if against is None:
            raise Refused(figure, "neither a peak nor a read bandwidth is known for its MBU")
        operators = step.operators()
        with about(f"step_{batch}_{context}"):
            used = mbu(
                weight_bytes=step.weight_bytes, kv_bytes=step.kv_bytes,
                seconds=samples.median, peak=against,
            )  # fmt: skip
        return StepRate(
            model=self.card.name, layers=len(layer_names(card.layers)),
            of_layers=len(layer_names(self.card.layers)), batch=batch, context=context,
            dtype=self.dtype, kernel=self.kernel, graph=graph, operators=operators,
            weight_bytes=step.weight_bytes, kv_bytes=step.kv_bytes,
            tokens_per_second=batch / samples.median, mbu=used,
            predicted_seconds=predicted(
                weight_bytes=step.weight_bytes, kv_bytes=step.kv_bytes,
                operators=1 if graph else operators, weights=self.weights_gb_s(batch),
                kv=kv_rate(self.attention, self.kernel, context), launch=self.launch,
            ),
            seconds=samples.median, seconds_p10=samples.p10, seconds_p90=samples.p90,
        )  # fmt: skip
