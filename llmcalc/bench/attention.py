"""Decode attention: one query of each sequence reads the whole cache of its layer."""

from __future__ import annotations

from torch import Tensor

from llmcalc.bench.buffers import DTYPES, Turns, copies, noise
from llmcalc.bench.device import Device
from llmcalc.bench.judge import Judge
from llmcalc.bench.rates import gb_s
from llmcalc.bench.shapes import CacheShape
from llmcalc.formula import about
from llmcalc.spec.measurement import AttentionRate, Dtype
from llmcalc.twin.kernels import attend
from llmcalc.twin.setting import Kernel


def reading(
    shape: CacheShape, context: int, dtype: Dtype, kernel: Kernel, judge: Judge
) -> AttentionRate:
    """One new token over a cache of that context. Raises Refused."""
    device, kind = judge.device, DTYPES[dtype]
    bytes = context * shape.elements * kind.itemsize
    turns = Turns(
        [
            _cache(shape, context, device, dtype)
            for _ in range(copies(bytes, device.cache, device.free // 2))
        ]
    )
    q = noise((1, shape.heads, 1, shape.qk_dim), kind, device.torch)
    figure = f"{dtype} {kernel} attention to {context} tokens"
    samples = judge.timed(figure, lambda: attend(q, *turns(), kernel=kernel))
    with about(f"attention_{kernel}_{context}"):
        rate = gb_s(bytes=bytes, seconds=samples.median)
    return AttentionRate(
        batch=1, context=context, heads=shape.heads, kv_heads=shape.kv_heads,
        qk_dim=shape.qk_dim, v_dim=shape.v_dim, dtype=dtype, kernel=kernel,
        bytes=bytes, gb_s=judge.possible(figure, rate), seconds=samples.median,
        seconds_p10=samples.p10, seconds_p90=samples.p90,
    )  # fmt: skip


def _cache(shape: CacheShape, context: int, device: Device, dtype: Dtype) -> tuple[Tensor, Tensor]:
    """Keys and values [b, h_kv, s, d]."""
    kind = DTYPES[dtype]
    k = noise((1, shape.kv_heads, context, shape.qk_dim), kind, device.torch)
    if shape.shared:
        return k, k[..., : shape.v_dim]
    return k, noise((1, shape.kv_heads, context, shape.v_dim), kind, device.torch)
