"""Decode attention: one query of each sequence reads the whole cache of its layer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import Tensor

from llmcalc.bench.buffers import DTYPES, Turns, copies, noise
from llmcalc.bench.clock import timed
from llmcalc.bench.device import Device
from llmcalc.bench.effort import Effort
from llmcalc.bench.rates import gb_s
from llmcalc.bench.samples import beyond, doubt
from llmcalc.bench.shapes import CacheShape
from llmcalc.bench.trusted import Refused
from llmcalc.formula import about
from llmcalc.spec.measurement import AttentionRate, Dtype
from llmcalc.twin.kernels import attend
from llmcalc.twin.setting import Kernel


def reading(
    shape: CacheShape,
    context: int,
    *,
    dtype: Dtype,
    kernel: Kernel,
    device: Device,
    effort: Effort,
    peak: float | None,
    batch: int = 1,
) -> AttentionRate:
    """One new token of each sequence over a cache of that context. Raises Refused."""
    kind = DTYPES[dtype]
    bytes = batch * context * shape.elements * kind.itemsize
    caches = [
        _cache(shape, batch, context, device, dtype)
        for _ in range(copies(bytes, device.cache, device.free // 2))
    ]
    q = noise((batch, shape.heads, 1, shape.qk_dim), kind, device.torch)
    samples = timed(_call(q, Turns(caches), kernel), device.torch, effort)
    with about(f"attention_{kernel}_{context}"):
        rate = gb_s(bytes=bytes, seconds=samples.median)
    if why := doubt(samples) or beyond(rate, peak, "GB/s"):
        raise Refused(f"{dtype} {kernel} attention to {context} tokens", why)
    return AttentionRate(
        batch=batch, context=context, heads=shape.heads, kv_heads=shape.kv_heads,
        qk_dim=shape.qk_dim, v_dim=shape.v_dim, dtype=dtype, kernel=kernel,
        bytes=bytes, gb_s=rate, seconds=samples.median,
        seconds_p10=samples.p10, seconds_p90=samples.p90,
    )  # fmt: skip


def _call(q: Tensor, turns: Turns[tuple[Tensor, Tensor]], kernel: Kernel) -> Callable[[], object]:
    run = partial(attend, kernel=kernel)

    def call() -> object:
        k, v = turns()
        return run(q, k, v)

    return call


def _cache(
    shape: CacheShape, batch: int, context: int, device: Device, dtype: Dtype
) -> tuple[Tensor, Tensor]:
    """Keys and values [b, h_kv, s, d]."""
    kind = DTYPES[dtype]
    k = noise((batch, shape.kv_heads, context, shape.qk_dim), kind, device.torch)
    if shape.shared:
        return k, k[..., : shape.v_dim]
    return k, noise((batch, shape.kv_heads, context, shape.v_dim), kind, device.torch)
