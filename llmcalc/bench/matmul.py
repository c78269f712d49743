"""Tokens times weights: at few tokens the weights' bandwidth, at many the arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812  the usual name
from torch import Tensor

from llmcalc.bench.buffers import DTYPES, Turns, copies, noise
from llmcalc.bench.device import Device
from llmcalc.bench.judge import Judge
from llmcalc.bench.rates import gb_s, tflop_s
from llmcalc.bench.shapes import Matrix
from llmcalc.formula import about
from llmcalc.spec.measurement import Dtype, MatmulRate

Product = Callable[[Tensor, Tensor], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """How torch multiplies with a weight of some format."""

    name: str
    inputs: Dtype
    prepared: Callable[[Tensor], Product]
    """From one weight, for its scales, to the function of tokens and weight."""


def _linear(_: Tensor) -> Product:
    return F.linear


def _int8(weight: Tensor) -> Product:
    """Weights of 8 bits with a scale a row, widened on the way."""
    scales = torch.rand(weight.shape[0], dtype=torch.bfloat16, device=weight.device)
    return lambda x, w: torch.ops.aten._weight_int8pack_mm(x, w, scales)  # noqa: SLF001


def _fp8(weight: Tensor) -> Product:
    """Both sides of 8 bits, one scale each."""
    one = torch.ones((), device=weight.device)
    return lambda x, w: torch._scaled_mm(  # noqa: SLF001
        x, w.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16
    )


KERNELS: Mapping[Dtype, Kernel] = {
    "fp32": Kernel(name="linear", inputs="fp32", prepared=_linear),
    "bf16": Kernel(name="linear", inputs="bf16", prepared=_linear),
    "fp16": Kernel(name="linear", inputs="fp16", prepared=_linear),
    "int8": Kernel(name="weight_int8pack_mm", inputs="bf16", prepared=_int8),
    "fp8": Kernel(name="scaled_mm", inputs="fp8", prepared=_fp8),
}
DOTS = "int8 dot products from a cache"
HELD = 2**20
"""Bytes of weights that stay in the caches of a few cores."""
FLOOR = {"scaled_mm": 16}
"""Tokens below which a kernel pads, and is measured no more (cuBLASLt takes multiples of 16)."""


class Weights:
    """Copies of one matrix in one format, which take turns."""

    def __init__(self, matrix: Matrix, dtype: Dtype, device: Device) -> None:
        self.matrix, self.dtype = matrix, dtype
        kind = DTYPES[dtype]
        self.bytes = matrix.n * matrix.k * kind.itemsize
        number = copies(self.bytes, device.cache, device.free // 2)
        held = [noise((matrix.n, matrix.k), kind, device.torch) for _ in range(number)]
        self.turns, self.kernel = Turns(held), KERNELS[dtype]
        self.product = self.kernel.prepared(held[0])

    def rate(self, m: int, judge: Judge) -> MatmulRate:
        """M tokens through the next weights, again and again. Raises Refused."""
        matrix = self.matrix
        figure = f"{self.dtype} matmul m {m}, n {matrix.n}, k {matrix.k}"
        x = noise((m, matrix.k), DTYPES[self.kernel.inputs], judge.device.torch)
        samples = judge.timed(figure, lambda: self.product(x, self.turns()))
        seconds = samples.median
        with about(f"matmul_{self.dtype}_{m}x{matrix.n}x{matrix.k}"):
            flops = tflop_s(m=m, n=matrix.n, k=matrix.k, seconds=seconds)
            rate = gb_s(bytes=self.bytes, seconds=seconds)
        return MatmulRate(
            m=m, n=matrix.n, k=matrix.k, dtype=self.dtype, kernel=self.kernel.name,
            tflop_s=flops, gb_s=judge.possible(figure, rate), seconds=seconds,
            seconds_p10=samples.p10, seconds_p90=samples.p90,
        )  # fmt: skip


def cached_dots(k: int, judge: Judge) -> float:
    """TFLOP/s of one token after the other through int8 weights [HELD / k, k] that stay in a cache.

    Raises Refused.
    """
    n = max(16, HELD // k)
    weight = noise((n, k), torch.int8, judge.device.torch)
    x = noise((1, k), torch.bfloat16, judge.device.torch)
    product = _int8(weight)
    seconds = judge.timed(DOTS, lambda: product(x, weight)).median
    with about("cached_dots"):
        return float(tflop_s(m=1, n=n, k=k, seconds=seconds))


def weights_gb_s(
    shapes: Sequence[Matrix], rates: Sequence[MatmulRate], dtype: Dtype, m: int
) -> float | None:
    """Bandwidth of all those matrices in turn that were measured; None where most were not."""
    found = {(one.n, one.k): one.seconds for one in rates if (one.dtype, one.m) == (dtype, m)}
    known = [one for one in shapes if (one.n, one.k) in found]
    if 2 * sum(one.elements for one in known) < sum(one.elements for one in shapes):
        return None
    bytes = sum(one.elements for one in known) * DTYPES[dtype].itemsize
    seconds = sum(one.times * found[one.n, one.k] for one in known)
    with about(f"weights_{dtype}_{m}"):
        return float(gb_s(bytes=bytes, seconds=seconds)) if known else None
